/**
 * Child processes and their supervisor, as real processes: they serve and end, and none outlives its supervisor, not even one that hangs
 * before its hello. Source: scale-out.md, Edges.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { moduleBeside } from '../../src/lib/module-worker.ts';
import { SystemClock } from '../../src/lib/system-clock.ts';
import { ChildLife } from '../../src/server/children/child-life.ts';
import { SupervisedChild } from '../../src/server/children/child.ts';
import type { ProgramKind } from '../support/supervised-process.ts';
import { FakeLog } from '../support/fakes.ts';
import { Happenings } from '../support/happenings.ts';
import { processGone } from '../support/process-life.ts';
import { forkProgram } from '../support/forked-children.ts';

const clock = new SystemClock();

class Supervised extends Happenings {
  readonly log = new FakeLog();
  readonly reports: string[] = [];
  readonly child: SupervisedChild<ProgramKind>;

  constructor(t: TestContext, manner: 'sound' | 'stuck', { number = 1, startMsMax = 60_000 } = {}) {
    super();
    const { log, reports } = this;
    const name = 'child';
    this.child = new SupervisedChild<ProgramKind>({
      clock,
      log,
      name,
      fields: {},
      restartMs: { min: 10, max: 10 },
      launch: () => new ChildLife<ProgramKind>(forkProgram(manner, 'pipe'), { clock, name, startMsMax }),
      task: () => ({ number }),
      reported: (report) => reports.push(report),
      changed: this.happened,
    });
    t.after(() => this.child.close());
  }
}

test('a child serves, is restarted when it dies, with its last output in the log, and stops in order', async (t) => {
  const scene = new Supervised(t, 'sound');
  const { child, log, reports } = scene;
  assert.deepEqual(await child.start(), { number: 1 });
  const { pid, release } = child.facts;
  assert.equal(release, '1.2.3');
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const) process.kill(pid ?? NaN, signal);
  child.order('the last words');
  await scene.until(() => child.facts.restarts === 1 && child.facts.state === 'up');
  const { fields } = log.lines.find(({ message }) => message.includes('died')) ?? assert.fail('no line');
  const { how } = fields as { how: string };
  assert.match(how, /^exit code 1: .*the last words/s);
  assert.notEqual(child.facts.pid, pid);
  await child.stop(60_000);
  assert.deepEqual(reports, ['stopping']);
  assert.ok(!log.lines.some(({ message }) => message.includes('; killed')));
});

test('a child that cannot serve fails the start with its reason', async (t) => {
  const { child } = new Supervised(t, 'sound', { number: -1 });
  await assert.rejects(child.start(), { message: 'the child does not start: a number is negative' });
});

test('a child without a hello is killed at the deadline', async (t) => {
  const { child } = new Supervised(t, 'stuck', { startMsMax: 2000 });
  const starting = child.start();
  const pid = child.facts.pid ?? assert.fail('it was started');
  await assert.rejects(starting, { message: 'the child does not start: the child was silent for 2000 ms' });
  await processGone(pid);
});

const skip = process.platform === 'linux' ? false : 'the kernel ends a child with its parent on Linux';
for (const [name, end] of [
  ['is killed', 'SIGKILL'],
  ['ends', 'in order'],
] as const)
  test(`no child outlives a supervisor that ${name}, not even one without a hello`, { skip }, async (t) => {
    const file = fileURLToPath(moduleBeside('../support/supervisor-process', import.meta.url));
    const supervisor = spawn(process.execPath, [...process.execArgv, file], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    t.after(() => supervisor.kill('SIGKILL'));
    const pids = new Map<string, number>();
    for await (const line of createInterface({ input: supervisor.stdout })) {
      const { manner, pid } = JSON.parse(line) as { manner: string; pid: number };
      pids.set(manner, pid);
      if (pids.size === 3) break;
    }
    if (end === 'SIGKILL') supervisor.kill(end);
    else supervisor.stdin.end();
    await Promise.all(['sound', 'stuck'].map((manner) => processGone(pids.get(manner) ?? NaN)));
  });
