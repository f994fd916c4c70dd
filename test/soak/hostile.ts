/**
 * Devices that sleep beside every attack at once: none of their sessions may end, none of their heartbeats be late, and the
 * server's memory stays flat.
 *
 *   npm run soak:hostile [-- --minutes 10 | --seconds 30] [--devices 10000]
 *
 * Prints a line each ten seconds; exits 1 with what is wrong. In the end a canary: a device that sends no heartbeat has to be
 * found out by the same looks.
 */
import { fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import { ApiClient } from '../support/api-client.ts';
import { startServerProcess, withMedia } from '../support/server-process.ts';
import type { AttackReport, AttackTargets } from './hostile-attackers.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seconds: { type: 'string' },
    devices: { type: 'string', default: '10000' },
  },
});
const seconds = Number(values.seconds ?? Number(values.minutes) * 60);
const devices = Number(values.devices);
if (!(seconds >= 20) || !Number.isInteger(devices) || devices < 10)
  throw new Error('at least 20 seconds and 10 devices');

const heartbeatSeconds = 5;
/** What is told is rounded down to whole seconds, and asking takes its time. */
const lateSecondsMax = heartbeatSeconds + 3;
const asksPerSecond = 20;
const loginsAtOnce = 200;
const grownMiBMax = 48;
/** Of the time: until then buffers and code find their size. */
const settledShare = 0.3;
const credential = { accessKeyId: 'AKsoak', secretKey: 'a secret of the soak', appId: '2818153' };
const attacker = { deviceId: 'ATTACKER', secret: 'a secret of the attacker' };

const complaints: string[] = [];
const endings: (() => void | Promise<void>)[] = [];
const ending = { after: (run: () => void | Promise<void>): void => void endings.push(run) };
async function soak(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'reveille-soak-'));
  endings.push(() => rm(directory, { recursive: true, force: true }));
  const file = join(directory, 'registry.json');
  await writeFile(file, JSON.stringify(registry()));
  const server = await startServerProcess(ending, [
    `data.dir=${join(directory, 'state')}`,
    `registry.file=${file}`,
    ...withMedia,
  ]);
  const api = new ApiClient(server.ports.api, credential);
  endings.push(() => api.close());
  const modules = await logIn(server.ports.sleep);
  let lost = 0;
  for (const module of modules.slice(1)) void module.closed.then(() => (lost += 1));
  endings.push(async () => void (await Promise.all(modules.map((module) => module.close()))));
  const stopBeating = heartbeat(modules.slice(1));
  endings.push(stopBeating);
  // The logins took as long as they took: from here on every module has sent a heartbeat.
  await sleep(heartbeatSeconds * 1000);
  const attack = startAttack({ ...server.ports, ...attacker });
  const pid = server.command.pid ?? 0;
  const look = new Look(api);
  const startMs = performance.now();
  let settledMiB = 0;
  console.log(`${devices} devices asleep, ${seconds} s of every attack at once`);
  for (let second = 1; second <= seconds; second++) {
    await look.askSome(1 + Math.floor(Math.random() * (devices - 1)));
    const elapsed = (performance.now() - startMs) / 1000;
    if (elapsed >= seconds * settledShare && settledMiB === 0) settledMiB = memoryMiB(pid);
    if (second % 10 === 0)
      console.log(
        JSON.stringify({ second, lost, ...look.figures(), rssMiB: memoryMiB(pid), ...attack.report() }),
      );
    await sleep(Math.max(0, second - elapsed) * 1000);
  }
  if (attack.report().floodsClosed === 0) complaints.push('no attacker got through to be closed');
  if (lost > 0) complaints.push(`${lost} sessions were lost`);
  if (look.late > 0) complaints.push(`${look.late} of ${look.asked} heartbeats were late`);
  const grownMiB = memoryMiB(pid) - settledMiB;
  if (grownMiB > grownMiBMax) complaints.push(`memory grew by ${grownMiB.toFixed(0)} MiB`);
  const restarts = server.command.lines.filter((line) => line.includes('died'));
  if (restarts.length > 0) complaints.push(`restarted: ${restarts.join('; ')}`);
  if (await look.isInTime(0)) complaints.push('the canary sends no heartbeat, and nobody noticed');
}

/** Asks the API as a backend would, and says how old the heartbeats are that it tells of. */
class Look {
  asked = 0;
  late = 0;
  readonly #api: ApiClient;
  #tookMs: number[] = [];

  constructor(api: ApiClient) {
    this.#api = api;
  }

  async askSome(from: number): Promise<void> {
    for (let i = 0; i < asksPerSecond; i++) {
      this.asked += 1;
      if (!(await this.isInTime(1 + ((from + i) % (devices - 1))))) this.late += 1;
    }
  }

  async isInTime(index: number): Promise<boolean> {
    const startMs = performance.now();
    const { json } = await this.#api.connectivity(deviceId(index));
    this.#tookMs.push(performance.now() - startMs);
    const { sleep: asleep } = json.data as { sleep: Record<string, number | null> };
    const seen = Math.max(asleep['last_heartbeat_at'] ?? 0, asleep['last_login_at'] ?? 0);
    return Date.now() / 1000 - seen <= lateSecondsMax;
  }

  figures(): object {
    const sorted = this.#tookMs.splice(0).sort((a, b) => a - b);
    const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? 0;
    return { asked: this.asked, late: this.late, queryP99Ms: Math.round(p99) };
  }
}

async function logIn(port: number): Promise<SleepingModule[]> {
  const modules: SleepingModule[] = [];
  for (let from = 0; from < devices; from += loginsAtOnce) {
    const some = Array.from({ length: Math.min(loginsAtOnce, devices - from) }, (_, i) => from + i);
    modules.push(
      ...(await Promise.all(
        some.map((index) =>
          SleepingModule.connect(port, {
            deviceId: deviceId(index),
            secret: secretOf(index),
            // The canary's session lives on.
            heartbeatSeconds: index === 0 ? 3600 : heartbeatSeconds,
            localAddress: `127.0.1.${1 + (index % 100)}`,
          }),
        ),
      )),
    );
  }
  return modules;
}

/** Each in its turn, so that the whole of them takes one interval. */
function heartbeat(modules: readonly SleepingModule[]): () => void {
  const slices = 100;
  let slice = 0;
  const timer = setInterval(
    () => {
      for (let i = slice; i < modules.length; i += slices) modules[i]?.heartbeat();
      slice = (slice + 1) % slices;
    },
    (heartbeatSeconds * 1000) / slices,
  );
  return () => clearInterval(timer);
}

function startAttack(targets: AttackTargets): { report(): AttackReport } {
  const file = fileURLToPath(new URL('./hostile-attackers.ts', import.meta.url));
  const child = fork(file, [JSON.stringify(targets)]);
  let latest: AttackReport = { floodsClosed: 0, mebibytesSent: 0, silentClosed: 0, garbled: 0 };
  child.on('message', (report: AttackReport) => (latest = report));
  child.on('exit', (code) => complaints.push(`the attackers ended with ${code}`));
  endings.push(() => {
    child.removeAllListeners('exit');
    child.kill('SIGKILL');
  });
  return { report: () => ({ ...latest, mebibytesSent: Math.round(latest.mebibytesSent) }) };
}

function memoryMiB(pid: number): number {
  const kibibytes = /^RssAnon:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
  return Math.round(Number(kibibytes) / 1024);
}

function deviceId(index: number): string {
  return `SOAK${String(index).padStart(5, '0')}`;
}

function secretOf(index: number): string {
  return `the secret of soak device ${index}`;
}

function registry(): object {
  const { accessKeyId, secretKey, appId } = credential;
  const device = (device_id: string, secret: string): object => ({
    device_id,
    product_id: 'doorbell',
    secret,
  });
  return {
    applications: [{ app_id: appId, name: 'soak' }],
    credentials: [{ access_key_id: accessKeyId, secret_key: secretKey, app_id: appId, permissions: ['*'] }],
    products: [{ product_id: 'doorbell', app_ids: [appId] }],
    devices: [
      device(attacker.deviceId, attacker.secret),
      ...Array.from({ length: devices }, (_, index) => device(deviceId(index), secretOf(index))),
    ],
  };
}

try {
  await soak();
} finally {
  for (const end of endings.reverse()) await end();
}
for (const complaint of complaints) console.error(`wrong: ${complaint}`);
if (complaints.length === 0) console.log('no session was lost, no heartbeat was late, memory is flat');
process.exitCode = complaints.length > 0 ? 1 : 0;
