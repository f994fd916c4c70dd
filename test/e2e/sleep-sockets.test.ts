/** The listening sockets of the sleep port, on real sockets: their number, and conflicts with other servers. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { listenSockets, SleepSockets } from '../../src/edge/sleep-sockets.ts';
import { FakeLog } from '../support/fakes.ts';
import { findFreePort } from '../support/free-port.ts';
import { until } from '../support/event-loop.ts';

const anywhere = { host: '127.0.0.1', port: 0 };

function sleepSockets(t: TestContext, accept: (socket: Socket) => void = () => undefined): SleepSockets {
  const sockets = new SleepSockets(new FakeLog(), accept);
  t.after(() => sockets.close());
  return sockets;
}

for (const [acceptQueueMax, sockets] of [
  [128, 8],
  [4096, 8],
  [20_000, 2],
  [32_768, 1],
  [65_535, 1],
  [null, 1],
] as const)
  test(`with an accept queue of ${acceptQueueMax} connections there are ${sockets} sockets`, () => {
    assert.equal(listenSockets(acceptQueueMax), sockets);
  });

test('connections are accepted at every socket', async (t) => {
  const accepted: Socket[] = [];
  const sockets = sleepSockets(t, (socket) => accepted.push(socket));
  const { port } = await sockets.listen(anywhere);
  const callers = Array.from({ length: 100 }, () => connect(port, '127.0.0.1'));
  t.after(() => callers.forEach((caller) => caller.destroy()));
  await until(() => accepted.length === callers.length);
  for (const socket of accepted) socket.destroy();
});

test('at a shared port, a full process leaves connections to others with room', async (t) => {
  const place = await findFreePort('127.0.0.1');
  const sockets = sleepSockets(t, (socket) => socket.end('here'));
  const address = await sockets.listenShared({ host: '127.0.0.1', port: place });
  assert.equal(address.port, place);
  const called = async (): Promise<string> => {
    const caller = connect(place, '127.0.0.1');
    const [word] = (await once(caller, 'data')) as [Buffer];
    caller.destroy();
    return word.toString();
  };
  sockets.balance(() => false);
  assert.equal(await called(), 'here', 'all are full');
  sockets.othersHaveRoom = true;
  sockets.balance(() => true);
  assert.equal(await called(), 'here');
  sockets.balance(() => false);
  await assert.rejects(called(), { code: 'ECONNREFUSED' });
  sockets.balance(() => true);
  sockets.balance(() => true);
  const calledUntilOpen = (): Promise<string> => called().catch(calledUntilOpen);
  assert.equal(await calledUntilOpen(), 'here');
  sockets.balance(() => false);
  sockets.balance(() => true);
  await sockets.close();
  sockets.balance(() => true);
  await assert.rejects(called(), { code: 'ECONNREFUSED' });
});

test('a port in use is not shared', async (t) => {
  const other = createServer().listen(0, '127.0.0.1');
  t.after(() => other.close());
  await once(other, 'listening');
  const taken = { host: '127.0.0.1', port: (other.address() as { port: number }).port };
  await assert.rejects(sleepSockets(t).listen(taken), { code: 'EADDRINUSE' });
});

test('a shared port of another server is not shared', async (t) => {
  const taken = await sleepSockets(t).listen(anywhere);
  await assert.rejects(sleepSockets(t).listen(taken), { code: 'EADDRINUSE' });
});
