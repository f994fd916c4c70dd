/**
 * A call at a whole server by plain WebSockets and hand-written frame headers: no code of the server encodes or decodes them.
 * Source: calls-and-media.md, Legs.
 */
import type { TestContext } from 'node:test';
import type { Size } from '../../src/model/call.ts';
import { issueCall } from './call-actions.ts';
import { opsOf } from './driven-server.ts';
import { bridgePath, MediaPeer } from './media-peer.ts';
import type { TestServer } from './test-server.ts';

export const developmentKey = 'key-of-a-development-bridge';

export const videoFormats = { h264: 1, h265: 2, mjpeg: 3, i420: 4 } as const;
export type WireVideoFormat = keyof typeof videoFormats;
export const audioFormats = { alaw: 1, amr: 2, opus: 3, pcm: 4 } as const;

export interface WireHeader extends Size {
  readonly kind: number;
  readonly format: number;
  readonly flags: number;
  readonly timestamp: number;
}

export function wireFrame(header: Partial<WireHeader>, payload: Uint8Array): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeUInt8(header.kind ?? 1, 0);
  bytes.writeUInt8(header.format ?? videoFormats.h264, 1);
  bytes.writeUInt16BE(header.flags ?? 0, 2);
  bytes.writeUInt16BE(header.width ?? 0, 4);
  bytes.writeUInt16BE(header.height ?? 0, 6);
  bytes.writeUInt32BE(header.timestamp ?? 0, 8);
  return Buffer.concat([bytes, payload]);
}

export function audioFrame(timestamp: number, text: string, format: number = audioFormats.alaw): Buffer {
  return wireFrame({ kind: 2, format, timestamp }, Buffer.from(text));
}

export function readWireFrame(message: Buffer): WireHeader & { readonly payload: Buffer } {
  return {
    kind: message.readUInt8(0),
    format: message.readUInt8(1),
    flags: message.readUInt16BE(2),
    width: message.readUInt16BE(4),
    height: message.readUInt16BE(6),
    timestamp: message.readUInt32BE(8),
    payload: message.subarray(12),
  };
}

export function timestampsOf(frames: readonly Buffer[]): number[] {
  return frames.map((frame) => frame.readUInt32BE(8));
}

export interface WireCall {
  readonly session: string;
  readonly token: string;
  readonly device: MediaPeer;
  readonly bridge: MediaPeer;
  readonly connectDevice: () => Promise<MediaPeer>;
  readonly connectBridge: () => Promise<MediaPeer>;
}

let rooms = 0;

/** Connects both legs; the call ends with the test. `change`: fields of the backend's request. */
export async function placeWireCall(
  t: TestContext,
  server: TestServer,
  change: object = {},
): Promise<WireCall> {
  rooms += 1;
  const { session, token } = await issueCall(server, { msg_room_id: `wire-${rooms}`, ...change });
  const port = server.ports.media;
  const connectDevice = (): Promise<MediaPeer> => MediaPeer.connect(port, { bearer: token });
  const connectBridge = async (): Promise<MediaPeer> => {
    const bridge = await MediaPeer.connect(port, {
      path: `${bridgePath}?session=${session}`,
      bearer: developmentKey,
    });
    await textOf(bridge, 'start');
    return bridge;
  };
  const device = await connectDevice();
  const bridge = await connectBridge();
  t.after(async () => {
    // The call may have ended already.
    await opsOf(server)
      .change('/v1/calls/end', { session })
      .catch(() => undefined);
    for (const leg of [device, bridge]) leg.socket.terminate();
  });
  return { session, token, device, bridge, connectDevice, connectBridge };
}

/** The next text of this type; skips others. */
export async function textOf(leg: MediaPeer, type: string): Promise<Readonly<Record<string, unknown>>> {
  for (;;) {
    const text = await leg.nextText();
    if (text === null) throw new Error(`closed before it received ${type}: ${await leg.closed}`);
    const message = JSON.parse(text) as Readonly<Record<string, unknown>>;
    if (message['type'] === type) return message;
  }
}
