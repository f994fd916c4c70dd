/** The signed API, as the commands that ask it reach it. */
import { InvalidArgumentError } from 'commander';
import type { Clock } from '../base/clock.ts';
import type { FailureCode } from '../domain/codes.ts';
import { parseOrigin } from '../client/origin.ts';
import { ReveilleClient, type ApiResult } from '../client/reveille-client.ts';
import type { SigningCredential } from '../tgv1/sign-request.ts';

/** Sends nothing again: who asked by hand sees what the server said. To be closed. */
export function openApi(origin: string, credential: SigningCredential, clock: Clock): ReveilleClient {
  return new ReveilleClient({ origin, credential, clock, retry: { attemptsMax: 1 } });
}

/** An origin: scheme, host and port. Throws InvalidArgumentError. */
export function parseOriginOption(text: string): string {
  const origin = parseOrigin(text);
  if (origin === null) throw new InvalidArgumentError('Expected an origin like http://127.0.0.1:8080.');
  return origin;
}

/** What the server said of a wakeup or a message, as it was on the wire. */
export function envelopeOf(result: ApiResult<object, FailureCode>): object {
  const { requestId, message, data } = result;
  const envelope = { request_id: requestId, code: result.ok ? 0 : result.code, message };
  return data === null ? envelope : { ...envelope, data };
}
