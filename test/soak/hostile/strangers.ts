/** Attacks on every listener by unauthenticated connections. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { flood, floodKinds, silentConnection } from '../../support/floods.ts';
import { wrongRequest, statusOf } from '../../support/raw-requests.ts';
import type { ListenerPorts } from '../../support/server-process.ts';
import { secretOf } from '../../support/site-server.ts';
import { repeat, type Attack } from './attack.ts';
import { attacker, attackerDevice } from './registry.ts';

const never = new Promise<never>(() => undefined);
const addresses = 50;
/** Together with the other attackers more than each listener allows, and 1 000 in total. */
const silentOfListener = 250;
/** The crowd stays connected, rather than storming. */
const returnMs = 500;
const asking = 30;
const garbled = 5;
const garbledBytesMax = 8192;
const wronglySigned = 30;
const httpListeners = ['api', 'signal', 'media', 'ops'] as const;
const listeners = [...httpListeners, 'sleep'] as const;

/** Nothing, a partial head, a partial body. */
const beginnings = [
  '',
  'GET /v1/device/connectivity HTTP/1.1\r\nHost: a\r\n',
  'POST /v1/device/wakeup-request HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\n{',
];

function portsOf(ports: ListenerPorts, names: readonly (keyof ListenerPorts)[]): readonly number[] {
  return names.map((name) => ports[name]);
}

const floods: Attack = (ports, tally) =>
  repeat(tally, floodKinds.length, async (index) => {
    const kind = floodKinds[index];
    if (kind === undefined) return;
    const deviceId = attackerDevice(index);
    const localAddress = `127.0.9.${1 + index}`;
    const targets = { ...ports, deviceId, secret: secretOf(deviceId), localAddress };
    await flood(kind, targets, { bytesMax: Infinity, until: never });
    tally.done += 1;
  });

const silentCrowds: Attack = (ports, tally) => {
  for (const port of portsOf(ports, listeners))
    repeat(
      tally,
      silentOfListener,
      async (index) => {
        const socket = await silentConnection(port, `127.0.10.${1 + (index % addresses)}`);
        if (socket === null || socket.destroyed) return;
        socket.resume().write(beginnings[Math.floor(index / addresses) % beginnings.length] ?? '');
        await once(socket, 'close');
        tally.done += 1;
      },
      returnMs,
    );
};

/** Silent for a while, then one unauthenticated request, which must not make the address trusted. */
const askingCrowds: Attack = (ports, tally) => {
  for (const port of portsOf(ports, httpListeners))
    repeat(tally, asking, async (index) => {
      const localAddress = `127.0.10.${1 + (index % addresses)}`;
      const socket = await silentConnection(port, localAddress);
      await sleep(500);
      socket?.destroy();
      const status = await statusOf(port, localAddress, `${beginnings[1]}\r\n`);
      if (status !== null) tally.done += 1;
    });
};

const garbage: Attack = (ports, tally) => {
  for (const port of portsOf(ports, listeners))
    repeat(tally, garbled, async (index) => {
      const socket = connect({ port, host: '127.0.0.1', localAddress: `127.0.11.${1 + index}` });
      socket.on('error', () => undefined).resume();
      const closed = once(socket, 'close').catch(() => undefined);
      socket.write(randomBytes(1 + (tally.done % garbledBytesMax)));
      await Promise.race([closed, sleep(1000)]);
      socket.destroy();
      tally.done += 1;
    });
};

const wrongSignatures: Attack = ({ api }, tally) => {
  let signed = 0;
  repeat(tally, wronglySigned, async (index) => {
    signed += 1;
    const bytes = wrongRequest(attacker.credential, signed);
    if ((await statusOf(api, `127.0.12.${1 + (index % 10)}`, bytes)) === '401') tally.done += 1;
  });
};

export const strangers = { floods, silentCrowds, askingCrowds, garbage, wrongSignatures };
