import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import {
  packageCommand,
  repeatInAdvice,
  reveilleCommand,
  shellWord,
} from '../../../../src/cli/shell/command-error.ts';

test('advice repeats the selected server or store, quoted for a shell', (t) => {
  t.after(() => repeatInAdvice([]));
  const plain = reveilleCommand('doctor');
  repeatInAdvice([
    ['--data-dir', '/var/lib/my data'],
    ['--set', 'api.listen=127.0.0.1:0'],
  ]);
  const options = "--data-dir '/var/lib/my data' --set api.listen=127.0.0.1:0";
  assert.equal(reveilleCommand('doctor'), `${plain} ${options}`);
});

test('a shell reads a quoted word unchanged', () => {
  const words = ['a b', "it's", '$HOME', '', '*', 'x=1;rm', '-a', '\\'];
  const script = `printf '%s\\n' ${words.map(shellWord).join(' ')}`;
  assert.deepEqual(execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\n').slice(0, -1), words);
});

test('advice calls the program as it was called: by name, by npx if installed, else by file', () => {
  const folder = '/srv/doors';
  const called = {
    '/usr/local/bin/reveille': 'reveille',
    '/usr/local/lib/node_modules/reveille/dist/main.js': 'reveille',
    '/srv/doors/node_modules/.bin/reveille': 'npx reveille',
    '/srv/other/node_modules/.bin/reveille': 'reveille',
    '/home/a b/.npm/_npx/1f/node_modules/.bin/reveille':
      "node '/home/a b/.npm/_npx/1f/node_modules/.bin/reveille'",
    '/srv/reveille/dist/main.js': 'node /srv/reveille/dist/main.js',
  };
  for (const [script, command] of Object.entries(called))
    assert.equal(packageCommand(script, folder), command, script);
});
