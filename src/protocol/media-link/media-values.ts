/** What the two ends say of the media process itself, checked when it is read. */
import { z } from 'zod';
import { resolutionModes } from '../../model/call.ts';
import { linkTallyItemsMax, sourceSideMax, tokenKeysMax } from '../../model/limits.ts';
import { legRefusals } from '../../model/call.ts';
import { mediaFrameResults, videoFrameFormats } from '../../model/picture.ts';

/** A path, a host, a version. */
const line = z.string().max(4096);
const whole = z.int().min(0);
const figure = z.number().min(0);
const side = z.int().min(1).max(sourceSideMax);
const size = z.strictObject({ width: side, height: side });
const port = z.int().min(0).max(0xffff);

export const mediaProcessSettings = z.strictObject({
  legs: z.strictObject({
    host: line,
    port,
    legsMax: whole,
    handshakesMax: whole,
    handshakesPerAddressMax: whole,
    tls: z.strictObject({ certFile: line, keyFile: line }).nullable(),
  }),
  workers: whole,
  loadMax: figure,
  quality: z.int().min(1).max(100),
  sourceMax: size,
  maxFps: z.int().min(1),
});

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

/** Threads of the settings at most. */
const workersMax = 256;

export const mediaProcessCounts = z.strictObject({
  legs: whole,
  sockets: whole,
  sessions: whole,
  loads: z.array(figure).max(workersMax).readonly(),
  engine: line.nullable(),
});

const streamView = z.strictObject({
  format: z.enum(videoFrameFormats),
  /** Whatever a header says. */
  size: z.strictObject({ width: whole, height: whole }).nullable(),
  framesPerSecond: figure,
  bytesPerSecond: figure,
});
const quantiles = z.strictObject({ p50: figure, p99: figure }).nullable();

export const mediaView = z.strictObject({
  mode: z.enum(resolutionModes),
  hasDevice: z.boolean(),
  hasBridge: z.boolean(),
  viewers: whole,
  source: streamView.nullable(),
  output: streamView.nullable(),
  frames: z.record(z.enum(mediaFrameResults), whole),
  rebuilds: whole,
  keyFramesAsked: whole,
  frameMs: quantiles,
  workMs: quantiles,
});

/** Far above what a quarter of a second has. */
const many = whole.max(1_000_000);
const few = whole.max(linkTallyItemsMax);

/** What was counted since the last one. */
export const tally = z.strictObject({
  logins: z.array(z.tuple([z.enum(['accepted', ...legRefusals]), few])).max(legRefusals.length + 1),
  frames: z.array(z.tuple([z.enum(mediaFrameResults), many])).max(mediaFrameResults.length),
  rebuilds: many,
  frameSeconds: z.array(figure).max(linkTallyItemsMax),
});
