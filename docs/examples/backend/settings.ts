/** What the backend is told by its environment. */
import type { ReveilleClientOptions } from 'reveille/client';
import { reportedMedia, type Media } from './capabilities.ts';
import { isEncodingAesKey, type PushSecrets } from './push-crypto.ts';

export interface BackendSettings {
  /** The signed API, such as `http://127.0.0.1:8080`. */
  readonly origin: string;
  readonly credential: ReveilleClientOptions['credential'];
  readonly secrets: PushSecrets;
  /** Where pushes are received. */
  readonly host: string;
  readonly port: number;
  readonly path: string;
  /** A push is answered by then, whatever is still under way. The platform waits 5 s and then sends it again. */
  readonly answerWithinMs: number;
  /** How long a phone rings. */
  readonly callingTimeoutS: number;
  /** From the push on; what has not reached the device by then is given up. */
  readonly callMsMax: number;
  /** Calls under way at once; another is refused. */
  readonly callsMax: number;
  /** Before what failed is tried again. */
  readonly retryPauseMs: number;
  /** Of devices that report none. */
  readonly defaultMedia: Media;
}

const plainMedia = '{"no_video":true,"audio_rate":8000,"audio_channels":1}';

const usage = `Environment:
  API_ORIGIN         the signed API               http://127.0.0.1:8080
  API_ACCESS_KEY_ID  a credential with call:read, call:issue, wakeup:write,
  API_SECRET_KEY     message:send and events:read,
  API_APP_ID         and its application
  PUSH_TOKEN         as in the messaging app's console
  PUSH_AES_KEY       its EncodingAESKey, 43 characters
  MSG_APP_ID         the mini program's id
  PUSH_LISTEN        where pushes are received    127.0.0.1:8070
  PUSH_PATH          their path                   /push
  ANSWER_WITHIN_MS   a push is answered by then   3000
  CALLING_TIMEOUT_S  how long a phone rings       30
  CALLS_MAX          calls under way at once      200
  DEFAULT_MEDIA      of devices that report none  ${plainMedia}`;

/** Says what is wrong with the environment, and how it should be. */
export class UsageError extends Error {
  constructor(problem: string) {
    super(`${problem}\n\n${usage}`);
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Throws a UsageError, which names the variable and never its value. */
export function readSettings(env: Environment): BackendSettings {
  const callingTimeoutS = readWhole(env, 'CALLING_TIMEOUT_S', 30, 1, 600);
  return {
    origin: readOrigin(env),
    credential: {
      accessKeyId: readText(env, 'API_ACCESS_KEY_ID'),
      secretKey: readText(env, 'API_SECRET_KEY'),
      appId: readText(env, 'API_APP_ID'),
    },
    secrets: {
      token: readText(env, 'PUSH_TOKEN'),
      encodingAesKey: readAesKey(env),
      appId: readText(env, 'MSG_APP_ID'),
    },
    ...readListen(env),
    path: readText(env, 'PUSH_PATH', '/push'),
    answerWithinMs: readWhole(env, 'ANSWER_WITHIN_MS', 3000, 1, 4500),
    callingTimeoutS,
    callMsMax: callingTimeoutS * 1000,
    callsMax: readWhole(env, 'CALLS_MAX', 200, 1, 10_000),
    retryPauseMs: 1000,
    defaultMedia: readMedia(env),
  };
}

function readText(env: Environment, name: string, otherwise = ''): string {
  const value = env[name] ?? otherwise;
  if (value === '') throw new UsageError(`${name} is missing.`);
  return value;
}

function readWhole(env: Environment, name: string, otherwise: number, min: number, max: number): number {
  const text = readText(env, name, String(otherwise));
  const value = /^\d{1,6}$/.test(text) ? Number(text) : NaN;
  if (value >= min && value <= max) return value;
  throw new UsageError(`${name} must be a whole number from ${min} to ${max}.`);
}

function readOrigin(env: Environment): string {
  const text = readText(env, 'API_ORIGIN', 'http://127.0.0.1:8080');
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text;
  throw new UsageError('API_ORIGIN must be an origin such as https://reveille.example.');
}

function readAesKey(env: Environment): string {
  const text = readText(env, 'PUSH_AES_KEY');
  if (isEncodingAesKey(text)) return text;
  throw new UsageError('PUSH_AES_KEY must have 43 characters of A-Z a-z 0-9.');
}

function readListen(env: Environment): { readonly host: string; readonly port: number } {
  const [, host, port = ''] = /^(.+):(\d{1,5})$/.exec(readText(env, 'PUSH_LISTEN', '127.0.0.1:8070')) ?? [];
  if (host !== undefined && Number(port) <= 65_535) return { host, port: Number(port) };
  throw new UsageError('PUSH_LISTEN must be a host and a port, such as 127.0.0.1:8070.');
}

function readMedia(env: Environment): Media {
  const { audio_rate, audio_channels, ...rest } = reportedMedia(
    readJson(readText(env, 'DEFAULT_MEDIA', plainMedia)),
  );
  if (audio_rate !== undefined && audio_channels !== undefined)
    return { audio_rate, audio_channels, ...rest };
  throw new UsageError('DEFAULT_MEDIA must be JSON with audio_rate and audio_channels, both numbers.');
}

function readJson(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text)) as Readonly<Record<string, unknown>>;
  } catch {
    return {};
  }
}
