/** Temporary folders and unfinished files of killed processes are removed by the next one. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { LongCommand, runCli } from '../support/cli-process.ts';
import { serveArguments } from '../support/server-process.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';

test('the next command removes the folder of a killed demo, but not that of a running one', async (t) => {
  const TMPDIR = temporaryDirectory(t);
  const demo = async (): Promise<LongCommand> => {
    const command = new LongCommand(t, ['demo'], { TMPDIR });
    await command.line((line) => line !== '');
    return command;
  };
  const [killed, living] = [await demo(), await demo()];
  mkdirSync(join(TMPDIR, 'reveille-of-somebody-else'));
  const foldersOf = ({ pid }: LongCommand): string[] =>
    readdirSync(TMPDIR).filter((name) => name.startsWith(`reveille-${pid}-`));
  assert.equal(foldersOf(killed).length, 1);
  await killed.stop('SIGKILL');
  assert.equal(foldersOf(killed).length, 1, 'it cannot clean up');
  const doctor = await runCli(['doctor', '--data-dir', join(TMPDIR, 'none')], { TMPDIR });
  assert.match(doctor.stdout, /lmdb/);
  assert.deepEqual(
    readdirSync(TMPDIR).filter((name) => name.startsWith('reveille-')),
    [...foldersOf(living), 'reveille-of-somebody-else'],
  );
  await living.stop('SIGKILL');
});

test('a server removes only unfinished files of a killed one from its data directory', async (t) => {
  const data = temporaryDirectory(t);
  const id = '01a2b3c4-0000-4000-8000-000000000003';
  const unfinished = [
    `disk-probe.${id}`,
    `ops.token.${id}`,
    `token-keys.json.${id}`,
    `ops-tokens.json.${id}`,
    `console-key.json.${id}`,
  ];
  for (const name of [...unfinished, 'notes.txt', `notes.${id}`]) writeFileSync(join(data, name), '');
  const server = new LongCommand(t, serveArguments([`data.dir=${data}`]));
  await server.logged('ready');
  for (const name of unfinished) assert.equal(existsSync(join(data, name)), false, name);
  if (process.platform === 'linux') {
    const filter = readFileSync(`/proc/${server.pid}/coredump_filter`, 'utf8');
    assert.equal(Number.parseInt(filter, 16), 0, 'a core dump of it has none of its memory');
  }
  assert.ok(existsSync(join(data, 'notes.txt')) && existsSync(join(data, `notes.${id}`)));
  assert.equal(await server.stop('SIGTERM'), 0);
});
