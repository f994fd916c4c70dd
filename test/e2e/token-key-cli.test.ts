/** `reveille token-key …` as processes, with a running server, and SIGHUP after a rotation by another node. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tokenKeyFileOf } from '../../src/storage/keys/token-key-file.ts';
import { runCli, type CliResult } from '../support/cli-process.ts';
import { startServerProcess } from '../support/server-process.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';

interface Answer {
  readonly keys: readonly { readonly kid: string; readonly signs: boolean }[];
  readonly dropped?: readonly string[];
}

function jsonOf({ exitCode, stdout, stderr }: CliResult): Answer {
  assert.equal(exitCode, 0, stderr);
  return JSON.parse(stdout) as Answer;
}

test('an operator lists, rotates and retires the keys of a running server, which match its file', async (t) => {
  const data = join(temporaryDirectory(t), 'data');
  const server = await startServerProcess(t, [`data.dir=${data}`, 'log.level=info']);
  const answers: string[] = [];
  const tokenKey = async (...args: readonly string[]): Promise<CliResult> => {
    const result = await runCli(['token-key', ...args, '--data-dir', data]);
    answers.push(result.stdout, result.stderr);
    return result;
  };
  const file = tokenKeyFileOf({ calls: { token_keys_file: null }, data: { dir: data } });
  const kidsInFile = async (): Promise<readonly string[]> =>
    ((await file.find())?.keys ?? []).map(({ kid }) => kid);

  const { keys: made } = jsonOf(await tokenKey('list', '--json'));
  assert.deepEqual([made.length, made[0]?.signs], [1, true]);
  const secrets = [readFileSync(file.path, 'utf8')];
  const rotated = jsonOf(await tokenKey('rotate', '--json'));
  assert.deepEqual(rotated.keys[1], { ...made[0], signs: false });
  assert.deepEqual(rotated.dropped, []);
  assert.deepEqual(
    rotated.keys.map(({ kid }) => kid),
    await kidsInFile(),
  );
  secrets.push(readFileSync(file.path, 'utf8'));

  const listed = await tokenKey('list');
  assert.match(listed.stdout, /^KID +MADE +USE\n[0-9a-f]{8} +\S+Z +signs\n[0-9a-f]{8} +\S+Z +accepted\n$/);
  const unknown = await tokenKey('retire', 'nonsense');
  assert.equal(unknown.exitCode, 1);
  assert.match(unknown.stderr, /^no token key "nonsense"\n {2}list them: .* token-key list /);
  const retired = jsonOf(await tokenKey('retire', made[0]?.kid ?? '', '--json'));
  assert.deepEqual(retired.keys, [rotated.keys[0]]);
  const last = await tokenKey('retire', rotated.keys[0]?.kid ?? '');
  assert.equal(last.exitCode, 1);
  assert.match(last.stderr, /is the only token key: rotate first/);

  await file.rotate(1_800_000_000);
  process.kill(server.command.pid ?? 0, 'SIGHUP');
  const line = await server.command.line((said) => said.includes('call token keys reloaded'));
  assert.deepEqual((JSON.parse(line) as { kids: string[] }).kids, await kidsInFile());
  const { keys: reloaded } = jsonOf(await tokenKey('list', '--json'));
  assert.deepEqual(
    reloaded.map(({ kid }) => kid),
    await kidsInFile(),
  );
  secrets.push(readFileSync(file.path, 'utf8'));

  assert.equal(await server.command.stop('SIGTERM'), 0);
  const said = [...answers, ...server.command.lines, server.command.stderr].join('\n');
  const shown = secrets.flatMap((text) => text.match(/[\w-]{43}/g) ?? []);
  assert.equal(shown.length, 5);
  for (const secret of shown) assert.ok(!said.includes(secret), 'no secret is shown');
});
