/** `reveille init` at a terminal, and the server that begins with what it made. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { LongCommand, runCli } from '../support/cli-process.ts';
import { noTerminal, PseudoTerminal } from '../support/pseudo-terminal.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';

test(
  'a person answers at a terminal, and what was made is served: its device sleeps and is woken',
  { skip: noTerminal },
  async (t) => {
    const folder = temporaryDirectory(t);
    const file = join(folder, 'reveille.json');
    const light = ['media.process=none', 'auth.verification=inline'].flatMap((setting) => ['--set', setting]);
    const terminal = new PseudoTerminal(t, [
      'init',
      '--config',
      file,
      '--data-dir',
      join(folder, 'data'),
      ...light,
    ]);
    const answers = {
      'Address to listen on': '',
      'Port of the API': '0',
      'Certificate for TLS': '',
      'Id of the first application': 'acme',
      'Id of its first product': '',
      'Id of a device to try it with': 'DOOR-1',
      'File for the secrets': '',
      [`Write ${file}`]: '',
    };
    for (const [question, answer] of Object.entries(answers)) {
      await terminal.sees(question);
      terminal.type(`${answer}\n`);
    }
    assert.equal(await terminal.ended(), 0);
    assert.match(terminal.shown, /secret key .*\(shown this once\)[^]*Next, each in a terminal of its own:/);
    assert.match(readFileSync(file, 'utf8'), /"process": "none"/);

    const server = new LongCommand(t, ['serve', '--config', file]);
    await server.logged('ready');
    assert.doesNotMatch(server.stderr, /demo application/);
    const devices = new LongCommand(t, ['simulate', '--devices', '1', '--online-for', '1', '--config', file]);
    await devices.line((line) => line.includes('asleep'));
    const woken = await runCli(['wake', 'DOOR-1', '--wait', '--config', file]);
    assert.equal(woken.exitCode, 0, woken.stderr);
    assert.equal(await devices.stop('SIGTERM'), 0);
    assert.equal(await server.stop('SIGTERM'), 0);
  },
);

test('Ctrl-C at a question writes nothing', { skip: noTerminal }, async (t) => {
  const folder = temporaryDirectory(t);
  const places = ['--config', join(folder, 'reveille.json'), '--data-dir', join(folder, 'data')];
  const terminal = new PseudoTerminal(t, ['init', ...places]);
  await terminal.sees('Address to listen on');
  terminal.type('\u0003');
  assert.equal(await terminal.ended(), 1);
  assert.match(terminal.shown, /not begun: nothing was written/);
  assert.deepEqual(readdirSync(folder), []);
});
