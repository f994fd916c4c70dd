/**
 * Rows of live call sessions: one per device, its sessions in order of creation. Free text of callers is stored as bytes, because not
 * every msgpack decoder keeps a string that begins with U+FEFF.
 */
import type { CallMedia, CallRoom, CallSession } from '../../model/call.ts';
import type { ApplicationId, DeviceId } from '../../model/ids.ts';
import type { Table } from '../lmdb/environment.ts';
import { nameFields, pickFields } from '../lmdb/row-fields.ts';

export type CallRow = readonly (readonly unknown[])[];
export type CallTable = Table<CallRow>;

/** Add at the end of these lists only. */
const roomFields = ['msgAppId', 'modelId', 'roomId', 'sessionKey', 'sessionToken', 'payload'] as const;
/** Width and height in pixels; both null: unknown. */
const mediaFields = [
  'noVideo',
  'upVideo',
  'downVideo',
  'rotation',
  'screenWidth',
  'screenHeight',
  'resolution',
  'downAudio',
  'audioRate',
  'audioChannels',
] as const satisfies readonly (keyof FlatMedia)[];
/** Times are wall milliseconds. */
const sessionFields = [
  'sessionId',
  'state',
  'appId',
  'room',
  'media',
  'callingTimeoutS',
  'createdAtMs',
  'expiresAtMs',
  'ringsFromMs',
  'hasSeenDevice',
  'hasSeenBridge',
  'connectedTokens',
] as const satisfies readonly (keyof CallSession)[];

type RoomBytes = Readonly<Record<(typeof roomFields)[number], string | Uint8Array>>;

type FlatMedia = Omit<CallMedia, 'screen'> & {
  readonly screenWidth: number | null;
  readonly screenHeight: number | null;
};

interface StoredSession extends Omit<CallSession, 'deviceId' | 'appId' | 'room' | 'media'> {
  readonly appId: Uint8Array;
  readonly room: readonly unknown[];
  readonly media: readonly unknown[];
}

export function encodeCalls(sessions: readonly CallSession[]): CallRow {
  return sessions.map(({ appId, room, media, ...others }) => {
    const stored = {
      ...others,
      appId: Buffer.from(appId),
      room: encodeRoom(room),
      media: encodeMedia(media),
    };
    return pickFields(stored, sessionFields);
  });
}

/** Call right after the read: the bytes of a row belong to the store. */
export function decodeCalls(deviceId: DeviceId, row: CallRow): CallSession[] {
  return row.map((values) => {
    const session = nameFields(values, sessionFields) as unknown as StoredSession;
    const appId = textOf(session.appId) as ApplicationId;
    const [room, media] = [decodeRoom(session.room), decodeMedia(session.media)];
    return { ...session, deviceId, appId, room, media };
  });
}

function encodeRoom({ msgAppId, modelId, ...texts }: CallRoom): unknown[] {
  const bytes = Object.entries(texts).map(([name, text]) => [name, Buffer.from(text)]);
  return pickFields({ msgAppId, modelId, ...Object.fromEntries(bytes) }, roomFields);
}

function decodeRoom(row: readonly unknown[]): CallRoom {
  const values = Object.entries(nameFields(row, roomFields) as RoomBytes);
  return Object.fromEntries(
    values.map(([name, value]) => [name, typeof value === 'string' ? value : textOf(value)]),
  ) as unknown as CallRoom;
}

function encodeMedia({ screen, ...media }: CallMedia): unknown[] {
  const sides = { screenWidth: screen?.width ?? null, screenHeight: screen?.height ?? null };
  return pickFields({ ...media, ...sides }, mediaFields);
}

function decodeMedia(row: readonly unknown[]): CallMedia {
  const { screenWidth: width, screenHeight: height, ...media } = nameFields(row, mediaFields) as FlatMedia;
  return { ...media, screen: width === null || height === null ? null : { width, height } };
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}
