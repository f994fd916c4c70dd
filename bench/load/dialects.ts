/** How a device logs in to each server that can hold it, from its first byte to the word that it is in. */
import mqtt from 'mqtt-packet';
import { encodeLoginLine } from '../../src/sleep-wire/login-line.ts';
import { sessionKeyLength } from '../../src/sleep-wire/session-key.ts';
import type { DeviceIdentity } from './population.ts';

/** `in`: asleep now. Bytes: to be sent; the login goes on. */
export type LoginStep = 'wait' | 'in' | 'refused' | Buffer;

export interface Dialogue {
  /** Sent when connected; null: the server speaks first. */
  readonly opening: Buffer | null;
  /** After the opening nothing is waited for. */
  readonly isInAtOnce: boolean;
  received(chunk: Buffer): LoginStep;
}

export type DialectName = 'reveille' | 'silent' | 'named' | 'mqtt' | 'mqtt-subscribed';

/** As known modules do; the MQTT clients keep alive at the same interval. */
const heartbeatSeconds = 50;

const dialects: Readonly<Record<DialectName, (device: DeviceIdentity) => Dialogue>> = {
  reveille: (device) => new ReveilleDialogue(device),
  silent: () => ({ opening: null, isInAtOnce: true, received: refuse }),
  named: ({ deviceId }) => ({ opening: Buffer.from(`${deviceId}\n`), isInAtOnce: true, received: refuse }),
  mqtt: ({ deviceId }) => new MqttDialogue(deviceId, false),
  'mqtt-subscribed': ({ deviceId }) => new MqttDialogue(deviceId, true),
};

export function beginDialogue(dialect: DialectName, device: DeviceIdentity): Dialogue {
  return dialects[dialect](device);
}

function refuse(): LoginStep {
  return 'refused';
}

/** With reply `1`: in when the server has said OK. Source: sleep-wire.md, Exchange. */
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

const accepted = '20020000';
const subscribed = '9003000100';

/** In when the broker has said CONNACK, or, with a subscription, SUBACK. */
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
