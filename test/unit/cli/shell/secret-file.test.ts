/** The file of `--output`: mode 0600, created before the secret, and never overwritten. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Command } from 'commander';
import { inContext } from '../../../../src/cli/shell/command-context.ts';
import { answerSecret, outputOption, type SecretOptions } from '../../../../src/cli/shell/secret-file.ts';
import { commandScene } from '../../../support/command-scene.ts';
import { temporaryDirectory, type Ending } from '../../../support/temporary-store.ts';

const made = [{ secret: 's3cret' }, 'secret  s3cret'] as const;

function secretScene(t: Ending, make: () => Promise<typeof made>) {
  const add = (program: Command): void => {
    program
      .command('make')
      .addOption(outputOption())
      .action(inContext((context, options: SecretOptions) => answerSecret(context, options, make)));
  };
  return { ...commandScene(t, add), file: join(temporaryDirectory(t), 'key.json') };
}

test('a secret is shown, or with --output written to a file that only its owner can read', async (t) => {
  const { run, output, file } = secretScene(t, async () => made);
  await run('make');
  assert.deepEqual([output.json, output.text], made);
  await run('make', '--output', file);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), made[0]);
  assert.deepEqual(
    [output.json, output.text],
    [{ file }, `the secret is in ${file}, readable by its owner only`],
  );
});

test('an existing file is not replaced, and no secret is created', async (t) => {
  const { run, file } = secretScene(t, () => assert.fail('a secret was made'));
  writeFileSync(file, 'another');
  await assert.rejects(run('make', '--output', file), /key\.json cannot be written: EEXIST/);
  assert.equal(readFileSync(file, 'utf8'), 'another');
});

test('a refusal by the server leaves no file', async (t) => {
  const { run, file } = secretScene(t, () => Promise.reject(new Error('refused')));
  await assert.rejects(run('make', '--output', file), /refused/);
  assert.equal(existsSync(file), false);
});
