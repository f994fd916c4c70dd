/** Tests the test runner: a run or file without tests fails. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { checkout } from '../support/checkout.ts';

const run = fileURLToPath(new URL('test/run.ts', checkout));
const folder = mkdtempSync(join(tmpdir(), 'test-run-'));
after(() => rmSync(folder, { recursive: true }));

/** Runs a folder with one file. Resolves to the exit code and the output. */
function outcomeOf(name: string, text: string): Promise<{ code: unknown; output: string }> {
  const place = join(folder, name.replace(/\W/g, '-'));
  mkdirSync(place);
  writeFileSync(join(place, name), text);
  return runOn(place);
}

function runOn(place: string): Promise<{ code: unknown; output: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['--import', 'tsx', run, place], (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, output: stdout + stderr }),
    );
  });
}

test('a file without a test fails the run and is named', async () => {
  const { code, output } = await outcomeOf('empty.test.ts', 'export {};');
  assert.equal(code, 1);
  assert.match(output, /no test in .*empty\.test\.ts/);
});

test('a run whose tests are all skipped fails', async () => {
  const text = `import { test } from 'node:test'; test.skip('x', () => {});`;
  assert.equal((await outcomeOf('skips.test.ts', text)).code, 1);
});

test('a folder without a test file fails the run', async () => {
  const { code, output } = await outcomeOf('no-tests-here.ts', '');
  assert.equal(code, 1);
  assert.match(output, /no \*\.test\.ts under/);
});

test('a missing path is a usage error', async () => {
  assert.equal((await runOn(join(folder, 'nowhere'))).code, 2);
});
