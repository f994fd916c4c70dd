/**
 * FFmpeg's libraries, loaded on first use: the package is an optional dependency, and everything except decoding runs without it.
 * Source: calls-and-media.md, Resolution.
 */
import type * as Constants from 'node-av/constants';
import type * as Av from 'node-av/lib';
import type { ChannelLayout } from 'node-av/lib';
import { fail, messageOf, succeed, type Result } from '../../lib/result.ts';
import { findEngineFile, isCutShort } from './engine-file.ts';

export interface Engine {
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

/** Never rejects; the error says what to do. Silences FFmpeg's own output. */
export async function openEngine(load: EngineLoader = loadEngine): Promise<Result<Engine, string>> {
  try {
    const { av, constants } = await load();
    av.Log.setLevel(constants.AV_LOG_QUIET);
    return succeed({ version: av.getFFmpegInfo().version, av, constants });
  } catch (error) {
    return fail(isMissing(error) ? missing : unloadable(error));
  }
}

const missing = 'no video decoding: package node-av (FFmpeg) is not installed; run npm ci';

/** Maximum length of the reason: the package lists every place it has searched. */
const reasonCharactersMax = 300;

function unloadable(error: unknown): string {
  const why = messageOf(error).trim().replaceAll(/\s+/g, ' ').slice(0, reasonCharactersMax);
  return (
    `no video decoding: package node-av (FFmpeg) does not load on ${process.platform}/${process.arch}; ` +
    `run npm ci; it supports glibc Linux, macOS and Windows: ${why}`
  );
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';
}

/** Throws without an engine: `what` needs one. */
export function engineFor(what: string, engine: Engine | null): Engine {
  if (engine === null) throw new Error(`there is no ${what} without FFmpeg`);
  return engine;
}

/** `channels`: 1 or 2. */
export function channelLayoutOf({ constants }: Engine, channels: number): ChannelLayout {
  return channels === 2 ? constants.AV_CHANNEL_LAYOUT_STEREO : constants.AV_CHANNEL_LAYOUT_MONO;
}
