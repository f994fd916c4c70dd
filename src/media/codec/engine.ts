/**
 * FFmpeg's libraries, loaded when they are asked for: the package is an optional dependency, and all that does not decode
 * runs without it. Source: calls-and-media.md, Resolution.
 */
import type * as Constants from 'node-av/constants';
import type * as Av from 'node-av/lib';
import type { ChannelLayout } from 'node-av/lib';
import { fail, messageOf, succeed, type Result } from '../../lib/result.ts';
import { findEngineFile, isCutShort } from './engine-file.ts';

export interface Engine {
  /** Of FFmpeg, for people. */
  readonly version: string;
  readonly av: typeof Av;
  readonly constants: typeof Constants;
}

type EngineLoader = () => Promise<{ av: typeof Av; constants: typeof Constants }>;

async function loadEngine(): Promise<Awaited<ReturnType<EngineLoader>>> {
  const file = findEngineFile();
  if (file !== null && isCutShort(file)) throw new Error(`${file} is cut short`);
  const [av, constants] = await Promise.all([import('node-av/lib'), import('node-av/constants')]);
  return { av, constants };
}

/** The sentence says what to do where there is no engine. Never rejects. FFmpeg prints nothing from then on. */
export async function openEngine(load: EngineLoader = loadEngine): Promise<Result<Engine, string>> {
  try {
    const { av, constants } = await load();
    av.Log.setLevel(constants.AV_LOG_QUIET);
    return succeed({ version: av.getFFmpegInfo().version, av, constants });
  } catch (error) {
    return fail(isMissing(error) ? missing : unloadable(error));
  }
}

const missing =
  'video is not decoded here: the package node-av, which has FFmpeg, is not installed (npm ci installs it)';

/** Of the reason: the package lists every place it has looked at. */
const reasonCharactersMax = 300;

function unloadable(error: unknown): string {
  const why = messageOf(error).trim().replaceAll(/\s+/g, ' ').slice(0, reasonCharactersMax);
  return (
    `video is not decoded here: FFmpeg, in the package node-av, does not load on ${process.platform}/${process.arch} ` +
    `(npm ci installs it anew; it is there for glibc Linux, macOS and Windows): ${why}`
  );
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';
}

/** Of one channel or two. */
export function channelLayoutOf({ constants }: Engine, channels: number): ChannelLayout {
  return channels === 2 ? constants.AV_CHANNEL_LAYOUT_STEREO : constants.AV_CHANNEL_LAYOUT_MONO;
}
