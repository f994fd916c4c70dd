/** Boots a Debian 13 with systemd as the first process, in its own namespaces and control group, without a network. */
import { execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';
import { changes, enterDebian, findFault, makeDebianRoot } from '../support/debian-root.ts';
import type { Ending } from '../support/temporary-store.ts';

const run = promisify(execFile);

type Typed = (script: string) => Promise<string>;

/** Kernel settings of the whole machine, which have to stay unchanged; these writable ones are replaced by files. */
const shared = ['fs', 'kernel', 'vm'];
const written = ['fs/file-max', 'fs/nr_open', 'kernel/core_pattern', 'kernel/pid_max'];
const devices = ['null', 'zero', 'full', 'random', 'urandom', 'tty'];

/** Script that prepares the namespaces. `first`: the first process. */
function prepareSystem(first: string): string {
  return [
    'mount -t proc proc proc',
    'cd proc/sys',
    ...written.map((name) => `cp ${name} ../../$(basename ${name})`),
    ...shared.map((name) => `mount --bind ${name} ${name}; mount -o remount,bind,ro ${name}`),
    ...written.map((name) => `mount --bind ../../$(basename ${name}) ${name}`),
    'cd ../..',
    'mount -t sysfs sysfs sys',
    'mount -t cgroup2 cgroup2 sys/fs/cgroup',
    'for name in run tmp dev; do mount -t tmpfs tmpfs $name; done',
    `for name in ${devices.join(' ')}; do touch dev/$name; mount --bind /dev/$name dev/$name; done`,
    'mkdir dev/pts dev/shm',
    'ln -s pts/ptmx dev/ptmx',
    'mount -t devpts devpts dev/pts -o newinstance,ptmxmode=0666',
    `exec env -i container=test PATH=/usr/sbin:/usr/bin chroot . ${first}`,
  ].join('\n');
}

const ownGroup = [
  `mkdir "${changes}/cgroup"`,
  `mount -t cgroup2 cgroup2 "${changes}/cgroup"`,
  `group="${changes}/cgroup/reveille-$$"`,
  'mkdir "$group"',
];
const spaces = '--mount --pid --cgroup --uts --ipc --net --fork';
/** `$1`: a script of `prepareSystem`. */
const start = `sh -c 'echo $$ >"$0/cgroup.procs"; exec unshare ${spaces} sh -ec "$1"' "$group" "$1"`;
const removeGroup = [
  'until grep -q "populated 0" "$group/cgroup.events"; do sleep 0.1; done',
  'find "$group" -depth -type d -exec rmdir {} +',
].join('\n');

/** Reason why this machine cannot boot a Debian 13; null: it can. */
export function findBootFault(): string | null {
  const fault = makeDebianRoot();
  if (fault !== null) return fault;
  const script = `${start} || code=$?\n${removeGroup}\nexit $code`;
  return findFault([...enterDebian(ownGroup, script), prepareSystem('true')]);
}

/**
 * Boots the system after `steps` have changed the root. When every unit has started, resolves to a function that runs a script
 * in root's home and resolves to its output. All its processes end with the test.
 */
export async function bootDebian(t: Ending, steps: readonly string[]): Promise<Typed> {
  // Its processes end when their input does, even if the test was killed.
  const end = '{ read -r _ <&3 || echo 1 >"$group/cgroup.kill"; } &';
  const command = enterDebian([...steps, ...ownGroup], `exec 3<&0\n${end}\n${start} || true\n${removeGroup}`);
  const [program, ...args] = [...command, prepareSystem('/usr/lib/systemd/systemd --system')];
  const machine = spawn(program, args, { stdio: ['pipe', 'ignore', 'ignore'] });
  const ended = new Promise((resolve) => machine.once('exit', resolve));
  t.after(async () => {
    machine.stdin.end();
    await ended;
  });
  const child = `$(pgrep -P ${machine.pid} -x unshare || echo none)`;
  const waiting = `until pgrep -P "${child}" -x systemd; do test -d /proc/${machine.pid}; sleep 0.1; done 2>/dev/null`;
  const first = (await run('sh', ['-ec', waiting])).stdout.trim();
  const enter = ['-t', first, '-a', `-r/proc/${first}/root`, `-w/proc/${first}/root/root`];
  const env = ['HOME=/root', 'PATH=/usr/local/bin:/usr/sbin:/usr/bin'];
  const type = async (typed: string): Promise<string> =>
    (await run('nsenter', [...enter, 'env', '-i', ...env, 'sh', '-ec', typed])).stdout;
  // One unit fails, since there are no modules for this kernel.
  await type('until systemctl is-system-running --wait | grep -E "running|degraded"; do sleep 0.1; done');
  return type;
}
