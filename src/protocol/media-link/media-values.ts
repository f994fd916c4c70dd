/** Schemas of the values in the media link's messages: calls, legs and the media process itself. */
import { z } from 'zod';
import {
  callEndReasons,
  callStates,
  legRefusals,
  resolutionModes,
  videoRotations,
} from '../../model/call.ts';
import { callMediaShape, callRoomShape, callSizeShape } from '../../model/call-shape.ts';
import type { ApplicationId, BridgeId, DeviceId, SessionId, TokenId } from '../../model/ids.ts';
import { parseOrigins } from '../../model/settings-values.ts';
import { linkTallyItemsMax, tokenKeysMax } from '../../model/limits.ts';
import { soundEncodings } from '../../model/media/sound.ts';
import { mediaFrameResults, videoFrameFormats } from '../../model/media/picture.ts';

const wordCharactersMax = 1024;

function word<Branded extends string>() {
  return z
    .string()
    .max(wordCharactersMax)
    .transform((text) => text as Branded);
}

export const sessionId = word<SessionId>();

const videoRequest = callSizeShape.extend({
  rotation: z.literal(videoRotations),
  maxFps: z.int().min(1),
});

export const legMessage = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('assign'), sessionId, media: callMediaShape }),
  z.strictObject({
    kind: z.literal('start'),
    sessionId,
    room: callRoomShape,
    request: videoRequest.nullable(),
    media: callMediaShape,
  }),
  z.strictObject({
    kind: z.literal('state'),
    sessionId,
    state: z.enum(callStates),
    reason: z.enum(callEndReasons).nullable(),
  }),
]);

export const callReport = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('progress'), state: z.enum(['ringing', 'attempting', 'connected']) }),
  z.strictObject({ kind: z.literal('end'), reason: z.enum(callEndReasons) }),
]);

const deviceAdmission = z.strictObject({
  sessionId,
  appId: word<ApplicationId>(),
  deviceId: word<DeviceId>(),
  tokenId: word<TokenId>(),
  media: callMediaShape,
});

const bridgeAdmission = z.strictObject({
  /** Development keys have the ids `dev-1` and so on. */
  bridgeId: word<BridgeId>(),
  /** SHA-256 of the presented key, lowercase hex. */
  keySha256: z.string().length(64),
  /** The session that it requested; null: it waits for a call. */
  sessionId: sessionId.nullable(),
});

const viewerAdmission = z.strictObject({ sessionId });

export const admittedLeg = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('device'), admission: deviceAdmission }),
  z.strictObject({ kind: z.literal('bridge'), admission: bridgeAdmission }),
  z.strictObject({ kind: z.literal('viewer'), admission: viewerAdmission }),
]);

/** An open leg admitted by a previous core, or by this one over an earlier link. `sessionId`: its call; null: idle. */
export const broughtLeg = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('device'),
    sessionId,
    deviceId: word<DeviceId>(),
    tokenId: word<TokenId>(),
  }),
  z.strictObject({
    kind: z.literal('bridge'),
    keySha256: z.string().length(64),
    sessionId: sessionId.nullable(),
  }),
  z.strictObject({ kind: z.literal('viewer'), sessionId }),
]);

/** A path, a host, a version. */
const line = z.string().max(4096);
const whole = z.int().min(0);
const figure = z.number().min(0);
const port = z.int().min(0).max(0xffff);

/** Settings of a media process: a child receives them in its task, a remote one has its own. */
export interface MediaProcessSettings {
  readonly legs: {
    readonly host: string;
    /** 0: any free port. */
    readonly port: number;
    /** Legs, idle bridges and viewers at once; the process's limit of open files may lower it. */
    readonly legsMax: number;
    /** Connections without an admitted leg. */
    readonly handshakesMax: number;
    /** Connections of one address; 0: unlimited, as behind a proxy. */
    readonly handshakesPerAddressMax: number;
    /** WebRTC resources: origins of pages that may use them, `*` for all, and ICE servers for the Link headers. */
    readonly rtc: { readonly corsOrigins: readonly string[]; readonly iceServers: readonly string[] };
    /** Paths of PEM files; null: plain WebSockets and HTTP. */
    readonly tls: { readonly certFile: string; readonly keyFile: string } | null;
  };
  /** Threads that decode, scale and encode, from 1. */
  readonly workers: number;
  /** Share of the workers' time that calls may use, 0 to 1. */
  readonly loadMax: number;
  /** JPEG quality, 1 to 100. */
  readonly quality: number;
  readonly sourceMax: { readonly width: number; readonly height: number };
  readonly maxFps: number;
  readonly webrtc: {
    /** UDP ports, both included; null: the number of the listener's port. */
    readonly ports: { readonly first: number; readonly last: number } | null;
    /** IP addresses to advertise; empty: the machine's own. */
    readonly advertise: readonly string[];
    readonly peersMax: number;
  } | null;
  /** Its origins for clients, comma separated; null: none. */
  readonly advertise: string | null;
}

/** Argument of a child: its link is an inherited descriptor, or it connects by itself. */
export type MediaLinkKind = 'pipe' | 'ignore';

/** A media process as a child of its server, or of a site's supervisor. The port is the bound one, never 0. */
export interface MediaChildKind {
  /** `corePath`: the Unix socket, or the named pipe, of its core; null: the link is an inherited descriptor. */
  readonly task: MediaProcessSettings & { readonly corePath: string | null };
  readonly ready: { readonly port: number };
  readonly order: never;
  readonly report: never;
}

const secretBytes = 32;

export const tokenKeys = z
  .array(
    z.strictObject({
      kid: z.string().regex(/^[\w.-]{1,32}$/),
      secret: z.custom<Uint8Array>((bytes) => bytes instanceof Uint8Array && bytes.length === secretBytes),
    }),
  )
  .min(1)
  .max(tokenKeysMax)
  .refine((keys) => new Set(keys.map(({ kid }) => kid)).size === keys.length);

export const mediaAddress = z.strictObject({ host: line, port });
export type MediaAddress = z.infer<typeof mediaAddress>;

export const callElsewhere = z.strictObject({ mediaUrl: line });

/** Comma separated, each valid for `parseOrigin`. */
export const origins = line.refine((text) => parseOrigins(text) !== null);

const workersMax = 256;

export const mediaProcessCounts = z.strictObject({
  legs: whole,
  sockets: whole,
  sessions: whole,
  workers: z
    .array(z.strictObject({ busy: figure, taken: figure, room: whole }))
    .max(workersMax)
    .readonly(),
  /** Version of the decoder library; null: not installed on this machine. */
  engine: line.nullable(),
  soundEncoders: z.array(z.enum(soundEncodings)).max(soundEncodings.length).readonly(),
  /** SHA-256 of the listener's certificate; null: plain connections. */
  certificate: line.nullable(),
});
export type MediaProcessCounts = z.infer<typeof mediaProcessCounts>;

/** One direction of video or sound, as operators see it. Rates are of the last seconds. */
const streamView = z.strictObject({
  format: z.enum(videoFrameFormats),
  /** From the stream's header, unverified; null: unknown yet. */
  size: z.strictObject({ width: whole, height: whole }).nullable(),
  framesPerSecond: figure,
  bytesPerSecond: figure,
});
export type StreamView = Readonly<z.infer<typeof streamView>>;
const quantiles = z.strictObject({ p50: figure, p99: figure }).nullable();

export const mediaView = z.strictObject({
  mode: z.enum(resolutionModes),
  hasDevice: z.boolean(),
  hasBridge: z.boolean(),
  viewers: whole,
  /** Media from the bridge, and media to the device; null: none yet. */
  source: streamView.nullable(),
  output: streamView.nullable(),
  camera: streamView.nullable(),
  /** Frames and packets of both directions since the session's start. */
  frames: z.record(z.enum(mediaFrameResults), whole),
  rebuilds: whole,
  keyFramesAsked: whole,
  /** Milliseconds from a frame's arrival to its picture, and of the worker alone, over the last frames; null: none yet. */
  frameMs: quantiles,
  workMs: quantiles,
});
export type MediaView = Readonly<z.infer<typeof mediaView>>;

/** Far above the number in a quarter of a second. */
const many = whole.max(1_000_000);
const few = whole.max(linkTallyItemsMax);

export const tally = z.strictObject({
  logins: z.array(z.tuple([z.enum(['accepted', ...legRefusals]), few])).max(legRefusals.length + 1),
  frames: z.array(z.tuple([z.enum(mediaFrameResults), many])).max(mediaFrameResults.length),
  rebuilds: many,
  frameSeconds: z.array(figure).max(linkTallyItemsMax),
});
