/** `--watch` as processes: beside a server that goes and comes back, in a pipe that is closed, and on a terminal. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LongCommand, runCli } from '../support/cli-process.ts';
import { noTerminal, PseudoTerminal } from '../support/pseudo-terminal.ts';
import { startServerProcess } from '../support/server-process.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';

test('a watch goes on while the server is away, and ends with Ctrl-C or its pipe', async (t) => {
  const data = temporaryDirectory(t);
  const server = await startServerProcess(t, [`data.dir=${data}`], {}, ['--demo']);
  const calls = new LongCommand(t, ['calls', 'list', '--watch', '1', '--data-dir', data]);
  const device = new LongCommand(t, [
    'status',
    'DEMO-DOORBELL-1',
    '--watch',
    '1',
    '--json',
    '--data-dir',
    data,
  ]);
  await calls.line((line) => line === 'no live calls');
  await device.line((line) => line.includes('"source":"server"'));
  await server.command.stop('SIGTERM');
  await calls.line((line) => line.startsWith(`no server runs on ${data}`));
  await device.line((line) => line.includes('"source":"store"'));
  const answered = calls.lines.filter((line) => line === 'no live calls').length;
  await startServerProcess(t, [`data.dir=${data}`]);
  await calls.line(() => calls.lines.filter((line) => line === 'no live calls').length > answered);
  assert.equal(await calls.stop('SIGINT'), 0);
  assert.ok(
    calls.lines.every((line) => !line.includes('\u001b')),
    'nothing is drawn in a pipe',
  );
  device.hangUp();
  assert.equal(await device.ended, 0);
  assert.equal(calls.stderr, '');
  // A question may meet the server while it starts; of more than that there is nothing to warn.
  const warnings = device.stderr.split('\n').filter((line) => !line.includes('is starting or stopping'));
  assert.deepEqual(warnings, ['']);
});

test('on a terminal the answer is drawn in place until Ctrl-C', { skip: noTerminal }, async (t) => {
  const data = temporaryDirectory(t);
  await startServerProcess(t, [`data.dir=${data}`]);
  const terminal = new PseudoTerminal(t, ['cluster', 'status', '--watch', '1', '--data-dir', data]);
  await terminal.sees('\u001b[3A\r\u001b[J');
  terminal.type('\u0003');
  assert.equal(await terminal.ended(), 0);
});

test('seconds that cannot be are refused, and so is a device behind --watch', async () => {
  for (const args of [
    ['calls', 'list', '--watch', '0'],
    ['calls', 'capacity', '--watch', '3601'],
    ['status', '--watch', 'DOOR-1'],
  ]) {
    const { exitCode, stderr } = await runCli(args);
    assert.equal(exitCode, 2);
    assert.match(
      stderr,
      /Expected a whole number of seconds from 1 to 3600; what else is named goes before --watch/,
    );
  }
});
