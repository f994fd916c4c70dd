/**
 * Rows of live call sessions: one per device, its sessions in order of creation. Free text of callers is stored as bytes, because not
 * every msgpack decoder keeps a string that begins with U+FEFF.
 */
import type {
  AudioChannels,
  AudioRate,
  CallMedia,
  CallRoom,
  CallSession,
  DownlinkAudioFormat,
  DownlinkVideoFormat,
  LiveCallState,
  ResolutionMode,
  UplinkVideoFormat,
  VideoRotation,
} from '../../model/call.ts';
import type { ApplicationId, DeviceId, SessionId, TokenId } from '../../model/ids.ts';
import type { Table } from '../lmdb/environment.ts';

/** Add at the end only. */
type RoomRow = readonly [
  msgAppId: string,
  modelId: string,
  roomId: Uint8Array,
  sessionKey: Uint8Array,
  sessionToken: Uint8Array,
  payload: Uint8Array,
];

/** Width and height in pixels; both null: unknown. Add fields at the end only. */
type MediaRow = readonly [
  noVideo: boolean,
  upVideo: string,
  downVideo: string,
  rotation: number,
  screenWidth: number | null,
  screenHeight: number | null,
  resolution: string,
  downAudio: string,
  audioRate: number,
  audioChannels: number,
];

/** Times are wall milliseconds. Add fields at the end only. */
type SessionRow = readonly [
  sessionId: string,
  state: string,
  appId: Uint8Array,
  room: RoomRow,
  media: MediaRow,
  callingTimeoutS: number,
  createdAtMs: number,
  expiresAtMs: number,
  ringsFromMs: number | null,
  hasSeenDevice: boolean,
  hasSeenBridge: boolean,
  connectedTokens: readonly string[],
];

export type CallRow = readonly SessionRow[];

export type CallTable = Table<CallRow>;

export function encodeCalls(sessions: readonly CallSession[]): CallRow {
  return sessions.map((session) => [
    session.sessionId,
    session.state,
    Buffer.from(session.appId),
    encodeRoom(session.room),
    encodeMedia(session.media),
    session.callingTimeoutS,
    session.createdAtMs,
    session.expiresAtMs,
    session.ringsFromMs,
    session.hasSeenDevice,
    session.hasSeenBridge,
    session.connectedTokens,
  ]);
}

/** Call right after the read: the bytes of a row belong to the store. */
export function decodeCalls(deviceId: DeviceId, row: CallRow): CallSession[] {
  return row.map((session) => ({
    sessionId: session[0] as SessionId,
    deviceId,
    state: session[1] as LiveCallState,
    appId: textOf(session[2]) as ApplicationId,
    room: decodeRoom(session[3]),
    media: decodeMedia(session[4]),
    callingTimeoutS: session[5],
    createdAtMs: session[6],
    expiresAtMs: session[7],
    ringsFromMs: session[8],
    hasSeenDevice: session[9],
    hasSeenBridge: session[10],
    connectedTokens: session[11] as readonly TokenId[],
  }));
}

function encodeRoom(room: CallRoom): RoomRow {
  return [
    room.msgAppId,
    room.modelId,
    Buffer.from(room.roomId),
    Buffer.from(room.sessionKey),
    Buffer.from(room.sessionToken),
    Buffer.from(room.payload),
  ];
}

function decodeRoom(row: RoomRow): CallRoom {
  return {
    msgAppId: row[0],
    modelId: row[1],
    roomId: textOf(row[2]),
    sessionKey: textOf(row[3]),
    sessionToken: textOf(row[4]),
    payload: textOf(row[5]),
  };
}

function encodeMedia(media: CallMedia): MediaRow {
  return [
    media.noVideo,
    media.upVideo,
    media.downVideo,
    media.rotation,
    media.screen?.width ?? null,
    media.screen?.height ?? null,
    media.resolution,
    media.downAudio,
    media.audioRate,
    media.audioChannels,
  ];
}

function decodeMedia(row: MediaRow): CallMedia {
  return {
    noVideo: row[0],
    upVideo: row[1] as UplinkVideoFormat,
    downVideo: row[2] as DownlinkVideoFormat,
    rotation: row[3] as VideoRotation,
    screen: row[4] === null || row[5] === null ? null : { width: row[4], height: row[5] },
    resolution: row[6] as ResolutionMode,
    downAudio: row[7] as DownlinkAudioFormat,
    audioRate: row[8] as AudioRate,
    audioChannels: row[9] as AudioChannels,
  };
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}
