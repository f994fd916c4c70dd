/** A terminal that is closed while it shows the server's log. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { runArgs } from '../support/checkout.ts';
import { serveArguments } from '../support/server-process.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { moduleBeside } from '../../src/lib/module-worker.ts';

test(
  'a server stops when its terminal is closed, and releases its ports',
  { skip: process.platform !== 'linux' && 'script has other options there' },
  async (t) => {
    const program = runArgs(moduleBeside('../../src/main', import.meta.url));
    const settings = serveArguments([`data.dir=${temporaryDirectory(t)}`, 'log.format=json']);
    const line = [process.execPath, ...program, ...settings].map((word) => `'${word}'`).join(' ');
    // Server and `script` hold the fourth descriptor as long as they run.
    const terminal = spawn('sh', ['-c', 'exec script -qec "exec $0" /dev/null', line], {
      stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
    });
    t.after(() => terminal.kill('SIGKILL'));
    const ended = once(terminal.stdio[3] ?? assert.fail('no fourth descriptor'), 'end');
    terminal.stdio[3]?.on('data', () => assert.fail('nothing is written there'));
    const said = createInterface({ input: terminal.stdout ?? assert.fail('no output') });
    for await (const logged of said) if (logged.includes('"msg":"ready"')) break;
    terminal.kill('SIGKILL');
    await ended;
  },
);
