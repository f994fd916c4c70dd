/** Attacks with the credentials and devices of another application. */
import { connect } from 'node:net';
import { SignalController, SignalRefused } from '../../../src/tools/simulator/signal-controller.ts';
import { LoginRefused, SleepingModule } from '../../../src/tools/simulator/sleeping-module.ts';
import { encodeRequest, statusOf } from '../../support/raw-requests.ts';
import { secretOf } from '../../support/site-server.ts';
import { repeat, type Attack } from './attack.ts';
import { attacker, attackerDevice } from './registry.ts';

/** More connections than the API allows. */
const kept = 500;
const askAgainMs = 2000;
const returnMs = 500;
const spaced = 20;
const conflicts = { sleep: attackerDevice(20), signal: attackerDevice(21) };

const keptConnections: Attack = ({ api }, tally) =>
  repeat(
    tally,
    kept,
    async (index) => {
      const socket = connect({ port: api, host: '127.0.0.1', localAddress: `127.0.13.${1 + (index % 10)}` });
      const ask = (): void =>
        void socket.write(
          encodeRequest({ credential: attacker.credential, rawQuery: `device_id=${attackerDevice(0)}` }),
        );
      socket.on('connect', ask).on('data', () => (tally.done += 1));
      const timer = setInterval(ask, askAgainMs);
      await new Promise((closed) => socket.on('error', () => undefined).on('close', closed));
      clearInterval(timer);
    },
    returnMs,
  );

/** A header that once blocked the event loop, in correctly signed requests. */
const spacedTypes: Attack = ({ api }, tally) =>
  repeat(tally, spaced, async (index) => {
    const bytes = encodeRequest({
      credential: attacker.credential,
      method: 'POST',
      path: '/v1/device/wakeup-request',
      body: Buffer.from('{}'),
      contentType: `application/json;charset=utf-8${' '.repeat(3000)}x`,
    });
    if ((await statusOf(api, `127.0.14.${1 + (index % 10)}`, bytes)) !== null) tally.done += 1;
  });

const sleepLogins: Attack = ({ sleep: port }, tally) =>
  repeat(tally, 2, async (index) => {
    const localAddress = `127.0.15.${1 + index}`;
    const options = { deviceId: conflicts.sleep, secret: secretOf(conflicts.sleep), localAddress };
    await SleepingModule.connect(port, options).catch((error: unknown) => {
      if (!(error instanceof LoginRefused)) throw error;
    });
    tally.done += 1;
  });

const signalLogins: Attack = ({ signal }, tally) =>
  repeat(tally, 2, async (index) => {
    const localAddress = `127.0.15.${1 + index}`;
    const url = `ws://127.0.0.1:${signal}`;
    const identity = { deviceId: conflicts.signal, secret: secretOf(conflicts.signal) };
    await SignalController.connect({ url, ...identity, localAddress }).catch((error: unknown) => {
      if (!(error instanceof SignalRefused)) throw error;
    });
    tally.done += 1;
  });

export const accounts = { keptConnections, spacedTypes, sleepLogins, signalLogins };
