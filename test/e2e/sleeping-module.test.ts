/** The simulated module on real sockets, against misbehaving servers. Source: docs/sleep-protocol.md, Deadlines. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { test } from 'node:test';
import { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';

const credentials = { deviceId: 'TESTDEVICE01', secret: 'device-secret', loginMsMax: 20 };
const sessionKey = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ012345';

for (const [what, greeting, missing] of [
  ['never gets a session key', '', 'no session key within 0.02 s'],
  ['gets no answer to its login', sessionKey, 'no answer to the login within 0.02 s'],
] as const)
  test(`a module that ${what} gives up and disconnects`, async (t) => {
    const server = createServer().listen(0, '127.0.0.1');
    t.after(() => server.close());
    await once(server, 'listening');
    const accepting = once(server, 'connection');
    const connecting = SleepingModule.connect((server.address() as AddressInfo).port, credentials);
    const refused = assert.rejects(connecting, { message: missing });
    const [socket] = (await accepting) as [Socket];
    socket.on('error', () => undefined).resume();
    socket.write(greeting);
    await once(socket, 'close');
    await refused;
  });
