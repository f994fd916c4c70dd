/** `reveille simulate --call` as a process, against a server after its first start. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openEngine } from '../../src/media/codec/engine.ts';
import { LongCommand, runCli, type CliResult } from '../support/cli-process.ts';
import { freeListens, settingArguments } from '../support/server-process.ts';
import { temporaryDirectory, type Ending } from '../support/temporary-store.ts';

const engine = await openEngine();
const skip = engine.ok ? false : engine.error;
const device = 'DEMO-DOORBELL-1';
const directory = join(temporaryDirectory({ after }), 'data');
const server = new LongCommand({ after }, [
  'serve',
  '--demo',
  '--data-dir',
  directory,
  ...settingArguments(freeListens),
]);
before(() => server.line((line) => line.includes('"msg":"ready"')));

type Said = Readonly<Record<string, unknown>>;

function cli(...args: string[]): Promise<CliResult> {
  return runCli([...args, '--data-dir', directory]);
}

async function jsonOf(...args: string[]): Promise<Said> {
  const { exitCode, stdout, stderr } = await cli(...args, '--json');
  assert.equal(exitCode, 0, stderr);
  return JSON.parse(stdout) as Said;
}

function startCall(t: Ending, ...more: string[]): LongCommand {
  return new LongCommand(t, ['simulate', '--call', device, '--json', '--data-dir', directory, ...more]);
}

async function nextReport(command: LongCommand, isWanted: (said: Said) => boolean): Promise<Said> {
  return JSON.parse(await command.line((line) => isWanted(JSON.parse(line) as Said))) as Said;
}

function flow(said: Said, party: 'device' | 'bridge', way: 'sent' | 'received'): Said {
  return (said[party] as Readonly<Record<string, Said>> | undefined)?.[way] ?? {};
}

const isConnected = ({ who, what }: Said): boolean => who === 'call' && what === 'connected';

test(
  'a call stays open to be listed and watched, with video transcoded both ways; Ctrl-C ends it, and its bridge is removed',
  { skip },
  async (t) => {
    const call = startCall(t, '--video', 'mjpeg', '--uplink', 'h264');
    const { session } = await nextReport(call, isConnected);
    const { calls } = await jsonOf('calls', 'list', '--device', device);
    const [listed] = calls as readonly Said[];
    assert.deepEqual(
      [listed?.['session'], listed?.['state'], listed?.['legs']],
      [session, 'connected', { device: true, bridge: true }],
    );
    const { page } = await jsonOf('calls', 'watch');
    assert.match((page as { url: string }).url, /^http:.*\/watch\?ticket=/);
    await nextReport(call, (said) => Number(flow(said, 'device', 'received')['frames_per_second']) > 0);
    const figures = await nextReport(call, (said) => Number(flow(said, 'bridge', 'received')['frames']) > 0);
    const received = flow(figures, 'bridge', 'received');
    assert.deepEqual([received['format'], received['size']], ['h264', '320x240']);
    assert.equal(await call.stop('SIGINT'), 0);
    const summary = JSON.parse(call.lines.at(-1) ?? '') as Said;
    assert.equal(summary['event'], 'summary');
    assert.ok(Number(flow(summary, 'device', 'received')['frames']) >= 2);
    assert.equal((await cli('calls', 'list')).stdout, 'no live calls\n');
    assert.match(
      (await cli('calls', 'watch')).stderr,
      /^no call is live\n {2}start one: .*simulate --call DEVICE/,
    );
    assert.equal((await cli('registry', 'list', 'bridges')).stdout, 'no bridges\n');
  },
);

test(
  'a waiting bridge accepts the call, no other is created, and either side can end it',
  { skip },
  async (t) => {
    const { key } = await jsonOf('bridge', 'add', 'of-others', '--app', '2818153');
    const bridge = new LongCommand(t, [
      'simulate',
      '--bridge',
      '--key',
      String(key),
      '--json',
      '--data-dir',
      directory,
    ]);
    await nextReport(bridge, ({ event }) => event === 'connected');
    const call = startCall(t);
    await nextReport(call, ({ who, what }) => who === 'bridge' && what === 'has taken the call');
    const { session } = await nextReport(call, isConnected);
    assert.equal((await cli('calls', 'end', String(session))).exitCode, 0);
    assert.equal(await call.ended, 0);
    await nextReport(call, ({ state, reason }) => state === 'ended' && reason === 'cancelled');
    const { bridges } = await jsonOf('registry', 'list', 'bridges');
    assert.deepEqual(
      (bridges as readonly { bridge_id: string }[]).map(({ bridge_id: id }) => id),
      ['of-others'],
    );
    assert.equal(await bridge.stop('SIGINT'), 0);
  },
);

test('an unconnected device has no call', async () => {
  const { exitCode, stderr } = await cli('simulate', '--call', 'NOBODY');
  assert.equal(exitCode, 1);
  assert.match(stderr, /no call is issued for NOBODY: /);
});
