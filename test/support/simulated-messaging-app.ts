/**
 * The messaging app's platform, as far as it pushes: it encrypts and signs as its secure mode is documented, in a
 * code of its own, and gives back what it is answered.
 */
import { createCipheriv, createHash, randomBytes } from 'node:crypto';

export interface MessagingAppOptions {
  /** Where the backend receives pushes, path and all. */
  readonly url: string;
  readonly token: string;
  /** 43 characters of Base64. */
  readonly encodingAesKey: string;
  readonly appId: string;
}

/** A phone that calls a device. */
export interface PhoneCall {
  readonly roomId: string;
  readonly sessionKey: string;
  readonly serverToken: string;
  readonly modelId: string;
  readonly deviceId: string;
  readonly payload?: string;
}

export interface PushAnswer {
  readonly status: number;
  readonly text: string;
}

/** What a push is spoilt with, to see it refused. */
export interface PushSpoil {
  readonly timestampS?: number;
  readonly signature?: string;
  /** Instead of the envelope. */
  readonly body?: string;
  /** Instead of the message. */
  readonly message?: string;
  /** Instead of the mini program's own. */
  readonly appId?: string;
  readonly encodingAesKey?: string;
}

const nonce = '415670741';

export class SimulatedMessagingApp {
  readonly #options: MessagingAppOptions;

  constructor(options: MessagingAppOptions) {
    this.#options = options;
  }

  /** Asks whether the address is the backend's, as the console does. */
  verify(echo: string, spoil: PushSpoil = {}): Promise<PushAnswer> {
    const timestamp = timestampOf(spoil);
    const signature = spoil.signature ?? signPush(this.#options.token, timestamp, nonce);
    const query = new URLSearchParams({ signature, timestamp, nonce, echostr: echo });
    return answerOf(fetch(`${this.#options.url}?${query.toString()}`));
  }

  /** Tells the backend that a phone stands in a room and waits for a device. */
  push(call: PhoneCall, spoil: PushSpoil = {}): Promise<PushAnswer> {
    const { token, encodingAesKey, appId } = this.#options;
    const message = spoil.message ?? jsonMessage(call);
    const key = aesKey(spoil.encodingAesKey ?? encodingAesKey);
    const encrypted = encryptPush(key, randomBytes(16), message, spoil.appId ?? appId);
    const timestamp = timestampOf(spoil);
    const query = new URLSearchParams({
      signature: signPush(token, timestamp, nonce),
      timestamp,
      nonce,
      openid: 'a-caller',
      encrypt_type: 'aes',
      msg_signature: spoil.signature ?? signPush(token, timestamp, nonce, encrypted),
    });
    const envelope = JSON.stringify({ ToUserName: 'gh_receiver', Encrypt: encrypted });
    const body = spoil.body ?? envelope;
    return answerOf(fetch(`${this.#options.url}?${query.toString()}`, { method: 'POST', body }));
  }
}

function aesKey(encodingAesKey: string): Buffer {
  return Buffer.from(`${encodingAesKey}=`, 'base64');
}

/** SHA-1 over the parts, sorted and joined. */
function signPush(...parts: readonly string[]): string {
  return createHash('sha1')
    .update([...parts].sort().join(''))
    .digest('hex');
}

/** `random`: 16 bytes. */
function plainPush(random: Uint8Array, message: string, appId: string): Buffer {
  const text = Buffer.from(message);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  const plain = Buffer.concat([random, length, text, Buffer.from(appId)]);
  const missing = 32 - (plain.length % 32);
  return Buffer.concat([plain, Buffer.alloc(missing, missing)]);
}

function encryptPush(key: Buffer, random: Uint8Array, message: string, appId: string): string {
  const cipher = createCipheriv('aes-256-cbc', key, key.subarray(0, 16)).setAutoPadding(false);
  return Buffer.concat([cipher.update(plainPush(random, message, appId)), cipher.final()]).toString('base64');
}

function timestampOf({ timestampS }: PushSpoil): string {
  return String(timestampS ?? Math.floor(Date.now() / 1000));
}

function fieldsOf(call: PhoneCall): Readonly<Record<string, string>> {
  return {
    ToUserName: 'gh_receiver',
    FromUserName: 'a-caller',
    MsgType: 'event',
    Event: 'iot_voip_notify',
    Action: 'join_voip_room',
    Payload: call.payload ?? '',
    RoomId: call.roomId,
    SessionKey: call.sessionKey,
    ServerToken: call.serverToken,
    ModelId: call.modelId,
    Sn: call.deviceId,
  };
}

export function jsonMessage(call: PhoneCall): string {
  return JSON.stringify({ ...fieldsOf(call), CreateTime: 1_709_621_375 });
}

async function answerOf(response: Promise<Response>): Promise<PushAnswer> {
  const { status, text } = await response.then(async (it) => ({ status: it.status, text: await it.text() }));
  return { status, text };
}
