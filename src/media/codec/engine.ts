/**
 * FFmpeg's libraries, loaded when they are asked for: the package is an optional dependency, and all that does not decode
 * runs without it. Source: calls-and-media.md, Resolution.
 */
import type * as Constants from 'node-av/constants';
import type * as Av from 'node-av/lib';
import { fail, succeed, type Result } from '../../lib/result.ts';

export interface Engine {
  /** Of FFmpeg, for people. */
  readonly version: string;
  readonly av: typeof Av;
  readonly constants: typeof Constants;
}

type EngineLoader = () => Promise<{ av: typeof Av; constants: typeof Constants }>;

async function loadEngine(): Promise<Awaited<ReturnType<EngineLoader>>> {
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
  'video is not decoded here: the package node-av is not installed (npm install --include=optional)';

function unloadable(error: unknown): string {
  const why = error instanceof Error ? error.message.trim().replaceAll(/\s*\n\s*/g, ' ') : String(error);
  return (
    `video is not decoded here: node-av does not load on ${process.platform}/${process.arch} ` +
    `(npm install --include=optional on glibc Linux, macOS or Windows): ${why}`
  );
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';
}
