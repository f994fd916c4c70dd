/** A WebSocket client that sends only the frames and bytes that a test chooses, including ones that no library would send. */
import type { Socket } from 'node:net';
import { computeSignalMac } from '../../src/protocol/signal/controller-message.ts';
import type { RawPeer } from './raw-peer.ts';

export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export interface Frame {
  readonly opcode: number;
  readonly payload: Buffer;
}

export interface FrameOptions {
  readonly opcode?: number;
  /** Final frame of its message. Default: true. */
  readonly fin?: boolean;
  /** Reserved bits, at their position in the first byte. */
  readonly reserved?: number;
}

const mask = Buffer.from([0x11, 0x22, 0x33, 0x44]);

/** Encodes one masked frame, as a client sends it. */
export function encodeFrame(payload: string | Buffer, options: FrameOptions = {}): Buffer {
  const { opcode = opcodes.text, fin = true, reserved = 0 } = options;
  const bytes = Buffer.from(payload);
  const masked = Buffer.from(bytes.map((byte, i) => byte ^ (mask[i % 4] ?? 0)));
  return Buffer.concat([frameHead((fin ? 0x80 : 0) | reserved | opcode, bytes.length), mask, masked]);
}

function frameHead(first: number, length: number): Buffer {
  if (length < 126) return Buffer.from([first, 0x80 | length]);
  if (length < 65_536) return Buffer.from([first, 0x80 | 126, length >> 8, length & 0xff]);
  const head = Buffer.alloc(10);
  head.set([first, 0x80 | 127]);
  head.writeBigUInt64BE(BigInt(length), 2);
  return head;
}

/** A valid upgrade request, unless `headers` overrides it; null omits a header. */
export function upgradeRequest(
  headers: Readonly<Record<string, string | null>> = {},
  target = 'GET /v1/signal',
): string {
  const all = {
    Host: '127.0.0.1',
    Upgrade: 'websocket',
    Connection: 'Upgrade',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
    'Sec-WebSocket-Protocol': 'reveille.signal.v1',
    ...headers,
  };
  const lines = Object.entries(all).flatMap(([name, value]) => (value === null ? [] : [`${name}: ${value}`]));
  return `${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
}

export function loginText(sessionKey: string, deviceId = 'TESTDEVICE01', secret = 'device-secret'): string {
  const mac = computeSignalMac(secret, sessionKey, deviceId).toString('hex');
  return JSON.stringify({ type: 'login', device_id: deviceId, mac });
}

/** The result of `readToEnd` when the server sends only the reason of the close. */
export function dismissal(
  code: number,
  reason: string,
): { readonly texts: readonly string[]; readonly close: string } {
  return { texts: [`{"type":"bye","reason":"${reason}"}`], close: `${code} ${reason}` };
}

export class SignalPeer {
  readonly raw: RawPeer;

  constructor(raw: RawPeer) {
    this.raw = raw;
  }

  async upgrade(): Promise<void> {
    this.raw.send(upgradeRequest());
    const head = await this.readHead();
    if (!head.startsWith('HTTP/1.1 101 ')) throw new Error(`no upgrade: ${head}`);
  }

  get socket(): Socket {
    return this.raw.socket;
  }

  send(text: string): void {
    this.raw.send(encodeFrame(text));
  }

  /** Reads up to and including the empty line; less when the server closes first. */
  async readHead(): Promise<string> {
    let head = '';
    while (!head.endsWith('\r\n\r\n')) {
      const byte = await this.raw.read(1);
      if (byte === '') break;
      head += byte;
    }
    return head;
  }

  /** Reads the next frame; null when the server closes first. */
  async readFrame(): Promise<Frame | null> {
    const head = Buffer.from(await this.raw.read(2), 'latin1');
    if (head.length < 2) return null;
    const short = (head[1] ?? 0) & 0x7f;
    const length = short === 126 ? Buffer.from(await this.raw.read(2), 'latin1').readUInt16BE() : short;
    const payload = Buffer.from(length === 0 ? '' : await this.raw.read(length), 'latin1');
    return { opcode: (head[0] ?? 0) & 0x0f, payload };
  }

  /** Reads the next frame, which has to be a text. */
  async readText(): Promise<string> {
    const frame = await this.readFrame();
    if (frame?.opcode !== opcodes.text) throw new Error(`opcode ${frame?.opcode ?? 'none'} instead of text`);
    return frame.payload.toString('utf8');
  }

  async readSessionKey(): Promise<string> {
    const challenge = JSON.parse(await this.readText()) as { readonly session_key: string };
    return challenge.session_key;
  }

  /** Reads the challenge, logs in and reads the welcome. */
  async logIn(deviceId?: string, secret?: string): Promise<string> {
    this.send(loginText(await this.readSessionKey(), deviceId, secret));
    return this.readText();
  }

  /** Reads everything to the end: texts, and the close frame as `code reason`; `cut`: none. */
  async readToEnd(): Promise<{ readonly texts: readonly string[]; readonly close: string }> {
    const texts: string[] = [];
    for (;;) {
      const frame = await this.readFrame();
      if (frame === null) return { texts, close: 'cut' };
      if (frame.opcode === opcodes.text) texts.push(frame.payload.toString('utf8'));
      if (frame.opcode === opcodes.close) {
        const { payload } = frame;
        return { texts, close: `${payload.readUInt16BE()} ${payload.toString('utf8', 2)}` };
      }
    }
  }
}
