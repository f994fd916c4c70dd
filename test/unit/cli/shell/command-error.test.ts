import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { repeatInAdvice, reveilleCommand, shellWord } from '../../../../src/cli/shell/command-error.ts';

test('advice repeats which server or store is meant, as a shell reads it', (t) => {
  t.after(() => repeatInAdvice([]));
  const plain = reveilleCommand('doctor');
  repeatInAdvice([
    ['--data-dir', '/var/lib/my data'],
    ['--set', 'api.listen=127.0.0.1:0'],
  ]);
  const options = "--data-dir '/var/lib/my data' --set api.listen=127.0.0.1:0";
  assert.equal(reveilleCommand('doctor'), `${plain} ${options}`);
});

test('a shell reads a word back as it was', () => {
  const words = ['a b', "it's", '$HOME', '', '*', 'x=1;rm', '-a', '\\'];
  const script = `printf '%s\\n' ${words.map(shellWord).join(' ')}`;
  assert.deepEqual(execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\n').slice(0, -1), words);
});
