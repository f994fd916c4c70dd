/** A process that ends while its store writes, for example by a fatal error. Source: docs/adr/0020, the package's writer thread. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { moduleBeside } from '../../src/lib/module-worker.ts';
import { runArgs } from '../support/checkout.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';

const program = runArgs(moduleBeside('exit-in-transaction-process', import.meta.url));

for (const where of ['main', 'thread'])
  test(`a process that exits within a transaction of its ${where} ends, and holds no lock`, async (t) => {
    const child = spawn(process.execPath, [...program, temporaryDirectory(t), where], { stdio: 'inherit' });
    t.after(() => child.kill('SIGKILL'));
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    assert.deepEqual({ code, signal }, { code: null, signal: 'SIGKILL' });
  });
