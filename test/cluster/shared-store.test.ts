/** Three processes write one store and one of them is killed with -9, ten times over. Source: cluster.md. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test, type TestContext } from 'node:test';
import type { MemberId } from '../../src/model/cluster.ts';
import type { LoggedEvent } from '../../src/model/events.ts';
import { chanceFrom } from '../support/seeded-random.ts';
import { openSharedMembers, sharedNode, type SharedMember } from '../support/shared-member.ts';
import { SharedReplay } from '../support/shared-log-check.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { runArgs } from '../support/checkout.ts';
import { moduleBeside } from '../../src/lib/module-worker.ts';

const rounds = 10;
const entry = runArgs(moduleBeside('shared-store-process', import.meta.url));

class Writer {
  readonly name: string;
  readonly logins: string[] = [];
  readonly events = new Map<number, string>();
  readonly #process: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #followers = new Set<() => void>();

  constructor(directory: string, name: string) {
    this.name = name;
    const run = [...entry, directory, name];
    this.#process = spawn(process.execPath, run, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#ended = once(this.#process, 'exit');
    assert(this.#process.stdout !== null);
    createInterface({ input: this.#process.stdout }).on('line', (line) => this.#read(line));
  }

  /** Waits for so many more logins that it has told of. Rejects when it ends before. */
  async moved(count: number): Promise<void> {
    const goal = this.logins.length + count;
    const isGone = this.#ended.then(() => assert.fail(`${this.name} ended by itself`));
    isGone.catch(() => undefined);
    while (this.logins.length < goal)
      await Promise.race([isGone, new Promise<void>((resolve) => this.#followers.add(resolve))]);
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#ended;
  }

  async stop(): Promise<void> {
    this.#process.stdin?.end();
    const [code] = (await this.#ended) as [number | null];
    assert.equal(code, 0);
  }

  #read(line: string): void {
    const [kind = '', name = '', id] = line.split(' ');
    if (kind === 'login') this.logins.push(name);
    // The last line of who was killed may be cut.
    else if (kind === 'event' && id?.length === 36) this.events.set(Number(name), id);
    for (const follower of this.#followers) follower();
    this.#followers.clear();
  }
}

async function readAll(deps: SharedMember): Promise<readonly LoggedEvent[]> {
  let head = -1;
  while (head !== deps.events.head) {
    head = deps.events.head;
    deps.events.refresh();
    await new Promise(setImmediate);
  }
  return deps.events.read(0, Number.MAX_SAFE_INTEGER);
}

function checkTold(log: readonly LoggedEvent[], replay: SharedReplay, writers: readonly Writer[]): void {
  for (const { name, logins, events } of writers) {
    assert(logins.length > 0 && events.size > 0, `${name} told something`);
    for (const session of logins) assert(replay.sessions.has(session), `${session} was told and is lost`);
    for (const [sequence, id] of events) assert.equal(log[sequence - 1]?.id, id);
  }
}

test('whoever is killed in the middle of a commit, the others go on and nothing that was told is lost', async (t: TestContext) => {
  const directory = join(temporaryDirectory(t), 'data');
  const [coordinator] = openSharedMembers(t, directory, ['coordinator']);
  assert(coordinator !== undefined);
  const chance = chanceFrom(6);
  const all: Writer[] = [];
  const start = (name: string): Writer => {
    const writer = new Writer(directory, name);
    t.after(() => writer.kill());
    all.push(writer);
    return writer;
  };
  const writers = ['1', '2', '3'].map(start);
  for (let round = 0; round < rounds; round++) {
    await Promise.all(writers.map((writer) => writer.moved(3 + chance.below(20))));
    const killed = writers.splice(chance.below(writers.length), 1)[0];
    assert(killed !== undefined);
    await killed.kill();
    const gone = `${sharedNode}/${killed.name}@1` as MemberId;
    await Promise.all([
      coordinator.closeLost((member) => member === gone, round),
      ...writers.map((writer) => writer.moved(20)),
    ]);
    writers.push(start(`${round + 4}`));
  }
  await Promise.all(writers.map((writer) => writer.moved(1)));
  await Promise.all(writers.map((writer) => writer.stop()));
  const log = await readAll(coordinator);
  const replay = new SharedReplay();
  assert.equal(replay.faultOf(log), null);
  checkTold(log, replay, all);
  const isLost = ({ data }: LoggedEvent): boolean => 'reason' in data && data.reason === 'node_lost';
  assert(log.some(isLost), 'sessions of who was killed were ended');
  t.diagnostic(`${log.length} events, ${log.filter(isLost).length} of them ends of lost sessions`);
});
