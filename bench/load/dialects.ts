/** The login protocol of each server with devices, from the first byte to the confirmation. */
import mqtt from 'mqtt-packet';
import { assert } from '../../src/lib/assert.ts';
import { sessionKeyLength } from '../../src/lib/session-key.ts';
import { computeSignalMac } from '../../src/protocol/signal/controller-message.ts';
import { encodeLoginLine } from '../../src/protocol/sleep/login-line.ts';
import type { DeviceIdentity } from './population.ts';

/** `in`: logged in. Bytes: send them, and continue the login. */
export type LoginStep = 'wait' | 'in' | 'refused' | Buffer;

export interface Dialogue {
  /** Sent after connecting; null: the server sends first. */
  readonly opening: Buffer | null;
  /** True: logged in after the opening, without a response. */
  readonly isInAtOnce: boolean;
  received(chunk: Buffer): LoginStep;
}

export type DialectName = 'reveille' | 'signal' | 'silent' | 'named' | 'mqtt' | 'mqtt-subscribed';

/** The interval of known modules; also the keep-alive of the MQTT clients. */
const heartbeatSeconds = 50;

const dialects: Readonly<Record<DialectName, (device: DeviceIdentity) => Dialogue>> = {
  reveille: (device) => new ReveilleDialogue(device),
  signal: (device) => new SignalDialogue(device),
  silent: () => ({ opening: null, isInAtOnce: true, received: refuse }),
  named: ({ deviceId }) => ({ opening: Buffer.from(`${deviceId}\n`), isInAtOnce: true, received: refuse }),
  mqtt: ({ deviceId }) => new MqttDialogue(deviceId, false),
  'mqtt-subscribed': ({ deviceId }) => new MqttDialogue(deviceId, true),
};

export function beginDialogue(dialect: DialectName, device: DeviceIdentity): Dialogue {
  return dialects[dialect](device);
}

const ownHeartbeat = Buffer.alloc(64, 0x2e);
const pingRequest = mqtt.generate({ cmd: 'pingreq' });

export function heartbeatOf(dialect: DialectName): Buffer {
  return dialect.startsWith('mqtt') ? pingRequest : ownHeartbeat;
}

function refuse(): LoginStep {
  return 'refused';
}

/** With reply `1`: logged in on OK. Source: sleep-wire.md, Exchange. */
class ReveilleDialogue implements Dialogue {
  readonly opening = null;
  readonly isInAtOnce = false;
  readonly #device: DeviceIdentity;
  #held = '';
  #isAnswering = false;

  constructor(device: DeviceIdentity) {
    this.#device = device;
  }

  received(chunk: Buffer): LoginStep {
    this.#held += chunk.toString('latin1');
    if (this.#isAnswering) return this.#readAnswer();
    if (this.#held.length < sessionKeyLength) return 'wait';
    const sessionKey = this.#held;
    this.#held = '';
    this.#isAnswering = true;
    const credentials = { ...this.#device, wakeMode: 'custom', heartbeatSeconds, wantsReply: true } as const;
    return Buffer.from(encodeLoginLine(credentials, sessionKey), 'latin1');
  }

  #readAnswer(): LoginStep {
    if (!this.#held.endsWith('\n')) return 'wait';
    return this.#held === 'OK\n' ? 'in' : 'refused';
  }
}

const upgradeRequest = Buffer.from(
  'GET /v1/signal HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n' +
    'Sec-WebSocket-Protocol: reveille.signal.v1\r\n\r\n',
);
const upgraded = 'HTTP/1.1 101 ';
const headEnd = '\r\n\r\n';
/** First byte of a final text frame. */
const wholeText = 0x81;
/** Lengths from here on have two extra bytes. */
const longFrameBytes = 126;
const challengeForm = new RegExp(`^{"type":"challenge","session_key":"(.{${sessionKeyLength}})"}$`);

/** Logged in on the welcome; a minimal WebSocket. Source: signal-wire.md. */
class SignalDialogue implements Dialogue {
  readonly opening = upgradeRequest;
  readonly isInAtOnce = false;
  readonly #device: DeviceIdentity;
  #held = '';
  #awaited: 'upgrade' | 'challenge' | 'welcome' = 'upgrade';

  constructor(device: DeviceIdentity) {
    this.#device = device;
  }

  received(chunk: Buffer): LoginStep {
    this.#held += chunk.toString('latin1');
    if (this.#awaited === 'upgrade') {
      const end = this.#held.indexOf(headEnd);
      if (end < 0) return 'wait';
      if (!this.#held.startsWith(upgraded)) return 'refused';
      this.#held = this.#held.slice(end + headEnd.length);
      this.#awaited = 'challenge';
    }
    return this.#readFrame();
  }

  #readFrame(): LoginStep {
    const held = this.#held;
    if (held.length < 4) return 'wait';
    if (held.charCodeAt(0) !== wholeText) return 'refused';
    const shortLength = held.charCodeAt(1);
    const isLong = shortLength === longFrameBytes;
    const start = isLong ? 4 : 2;
    const end = start + (isLong ? held.charCodeAt(2) * 256 + held.charCodeAt(3) : shortLength);
    if (held.length < end) return 'wait';
    this.#held = held.slice(end);
    const text = held.slice(start, end);
    if (this.#awaited === 'welcome') return text.startsWith('{"type":"welcome"') ? 'in' : 'refused';
    return this.#answerChallenge(text);
  }

  #answerChallenge(text: string): LoginStep {
    const sessionKey = challengeForm.exec(text)?.[1];
    if (sessionKey === undefined) return 'refused';
    this.#awaited = 'welcome';
    const { deviceId, secret } = this.#device;
    const mac = computeSignalMac(secret, sessionKey, deviceId).toString('hex');
    return maskedText(`{"type":"login","device_id":"${deviceId}","mac":"${mac}"}`);
  }
}

/** Masked with zeros: the server unmasks as usual, while the load generator saves the work. */
function maskedText(text: string): Buffer {
  assert(text.length < longFrameBytes, 'the message fits a frame of the short form');
  return Buffer.from(`\x81${String.fromCharCode(0x80 | text.length)}\0\0\0\0${text}`, 'latin1');
}

const accepted = '20020000';
const subscribed = '9003000100';

/** Logged in on CONNACK, or, with a subscription, on SUBACK. */
class MqttDialogue implements Dialogue {
  readonly opening: Buffer;
  readonly isInAtOnce = false;
  readonly #subscription: Buffer | null;
  #held = '';

  constructor(deviceId: string, subscribes: boolean) {
    this.opening = mqtt.generate({
      cmd: 'connect',
      clientId: deviceId,
      clean: true,
      keepalive: heartbeatSeconds,
    });
    const subscriptions = [{ topic: `wake/${deviceId}`, qos: 0 as const }];
    this.#subscription = subscribes ? mqtt.generate({ cmd: 'subscribe', messageId: 1, subscriptions }) : null;
  }

  received(chunk: Buffer): LoginStep {
    this.#held += chunk.toString('hex');
    if (this.#held === accepted) return this.#subscription ?? 'in';
    if (this.#held === accepted + subscribed) return 'in';
    return (accepted + subscribed).startsWith(this.#held) ? 'wait' : 'refused';
  }
}
