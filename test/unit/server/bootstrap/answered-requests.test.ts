import assert from 'node:assert/strict';
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { AnswerMemory } from '../../../../src/core/messages/answer-memory.ts';
import { packPlain } from '../../../../src/lib/plain-msgpack.ts';
import { succeed } from '../../../../src/lib/result.ts';
import {
  restoreAnswered,
  saveAnswered,
  type AnsweringParts,
} from '../../../../src/server/bootstrap/answered-requests.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeLog } from '../../../support/fakes.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';

const clock = new DrivenClock();
const memoryNames = ['memory', 'messages', 'wakings', 'issued', 'ends', 'provisioned'] as const;
const requestOf = (name: string) => ({
  signature: Buffer.alloc(32, name).toString('hex'),
  signatureExpiresMs: clock.wallMs() + 300_000,
});

/** A core before its first request. */
function coreIn(directory: string) {
  const log = new FakeLog();
  const memories = Object.fromEntries(memoryNames.map((name) => [name, new AnswerMemory(clock, 10)]));
  const { ends: answered, provisioned: known, ...rest } = memories;
  const parts = { ...rest, log, callEnds: { answered }, provisioner: { known } };
  const answering = parts as unknown as AnsweringParts;
  return {
    log,
    answer: () => {
      for (const name of memoryNames) memories[name]?.keep(requestOf(name), succeed(name));
    },
    answers: () => memoryNames.map((name) => memories[name]?.repeated(requestOf(name)) ?? null),
    save: () => saveAnswered(answering, directory),
    restore: () => restoreAnswered(answering, directory),
  };
}

function folder(t: TestContext) {
  const directory = temporaryDirectory(t);
  return { directory, path: join(directory, 'answered-requests') };
}

const none = memoryNames.map(() => null);

test('requests of every kind are answered alike by the next core, which deletes the file of mode 0600', async (t) => {
  const { directory, path } = folder(t);
  const before = coreIn(directory);
  before.answer();
  await before.save();
  if (process.platform !== 'win32') assert.equal(statSync(path).mode & 0o777, 0o600);
  const after = coreIn(directory);
  await after.restore();
  assert.deepEqual(after.answers(), memoryNames.map(succeed));
  assert.ok(!existsSync(path));
  assert.deepEqual([...before.log.lines, ...after.log.lines], []);
});

test('a core that has answered nothing leaves no file, and one without a file starts', async (t) => {
  const { directory, path } = folder(t);
  const core = coreIn(directory);
  await core.restore();
  await core.save();
  assert.ok(!existsSync(path));
  assert.deepEqual(core.log.lines, []);
});

test('a file of another version, or a broken one, is deleted, and nothing is known', async (t) => {
  const { directory, path } = folder(t);
  for (const [content, lines] of [
    [packPlain({ version: 2, memories: [] }), 0],
    [Buffer.from([0xc1]), 0],
    [packPlain({ version: 1 }), 1],
  ] as const) {
    writeFileSync(path, content);
    const core = coreIn(directory);
    await core.restore();
    assert.deepEqual(core.answers(), none);
    assert.ok(!existsSync(path));
    assert.equal(core.log.lines.length, lines);
  }
});

test('a directory that cannot be written is logged, and the stop continues', async (t) => {
  const core = coreIn(join(folder(t).directory, 'missing'));
  core.answer();
  await core.save();
  assert.match(
    JSON.stringify(core.log.lines),
    /the next start does not know the requests that were answered.*|ENOENT/,
  );
  assert.equal(core.log.lines.length, 1);
});
