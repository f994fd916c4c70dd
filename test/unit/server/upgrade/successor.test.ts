import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, connect, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { haltReading, handleOf } from '../../../../src/lib/bound-sockets.ts';
import { startSuccessor, type Successor } from '../../../../src/server/upgrade/successor.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { temporaryDirectory, type Ending } from '../../../support/temporary-store.ts';

/** `module`: the text of the program. */
function start(t: Ending, clock: DrivenClock, module: string): Successor {
  const program = join(temporaryDirectory(t), 'release.mjs');
  writeFileSync(program, module);
  const successor = startSuccessor(clock, program, []);
  t.after(() => successor.kill());
  return successor;
}

void test('a release that hangs is given up when its time is over', async (t) => {
  const clock = new DrivenClock();
  const successor = start(t, clock, 'setInterval(() => undefined, 1000);');
  const loaded = successor.loaded(60_000);
  clock.advance(60_000);
  await assert.rejects(loaded, { message: 'the new release has not loaded within 60 s' });
});

void test('a release that says why it cannot start is quoted', async (t) => {
  const reason = 'sleep.listen: in use';
  const module = `process.send({ kind: 'failed', reason: ${JSON.stringify(reason)} }, () => process.exit(1));`;
  await assert.rejects(start(t, new DrivenClock(), module).loaded(60_000), { message: reason });
});

void test('bytes that arrive while a socket is with both processes are read once, by the one that reads', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  t.after(() => void server.close());
  await once(server, 'listening');
  const peer = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [socket] = (await once(server, 'connection')) as [Socket];
  const reads = `
    import { Socket } from 'node:net';
    process.on('message', (order, handle) => {
      const socket = new Socket({ handle, pauseOnCreate: true, readable: true, writable: true });
      socket.on('data', (chunk) => socket.write('successor ' + chunk)).resume();
    });
  `;
  const successor = start(t, new DrivenClock(), reads);
  const handle = handleOf(socket);
  assert.ok(handle !== null);
  haltReading(socket);
  peer.write('early');
  await successor.order({ kind: 'connection' }, handle);
  const [answer] = (await once(peer, 'data')) as [Buffer];
  assert.equal(answer.toString(), 'successor early');
  // It is open in the other process.
  socket.destroy();
  await once(socket, 'close');
  peer.write('late');
  const [next] = (await once(peer, 'data')) as [Buffer];
  assert.equal(next.toString(), 'successor late');
  peer.destroy();
});
