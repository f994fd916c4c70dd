/** Access of commands to the signed API: its origin, its certificate, and a client that signs. */
import type { X509Certificate } from 'node:crypto';
import type { ConnectionOptions } from 'node:tls';
import type { Command } from 'commander';
import type { Clock } from '../../lib/clock.ts';
import type { FailureCode } from '../../model/codes.ts';
import { parseOrigin } from '../../client/origin.ts';
import { ReveilleClient, type ApiResult } from '../../client/reveille-client.ts';
import type { SigningCredential } from '../../protocol/tgv1/sign-request.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { optionOf } from '../shell/option-values.ts';
import { CommandError } from '../shell/command-error.ts';
import {
  addTrustOptions,
  findTrust,
  readListenerCertificate,
  trustingOnly,
  type TrustOptions,
} from '../shell/server-trust.ts';
import { listenerAddress, listenerCertFile } from '../admin/running-server.ts';
import {
  addCredentialOption,
  findCredential,
  type CredentialNeed,
  type CredentialOptions,
} from './credential-source.ts';

export interface ApiPlace {
  readonly origin: string;
  /** The pinned certificate, whatever its issuer and name; null: Node's own certificate authorities. */
  readonly certificate: X509Certificate | null;
}

export interface ApiOptions extends CredentialOptions, TrustOptions {
  readonly url?: string;
}

/**
 * Calls `ask` with a client that signs with the required credential and trusts the configured certificates; resolves to its
 * result and closes the client.
 * Rejects with a CommandError if there is no such credential or no API.
 */
export async function withApi<Answer>(
  context: CommandContext,
  options: ApiOptions,
  need: CredentialNeed,
  ask: (api: ReveilleClient, trust: ConnectionOptions | undefined) => Promise<Answer>,
): Promise<Answer> {
  const credential = await findCredential(context, options, need);
  const trust = findTrust(context, withProfile(context, options));
  const api = openApi(findApi(context, options.url), credential, context.clock, trust);
  try {
    return await ask(api, trust);
  } finally {
    api.close();
  }
}

function withProfile({ profile }: CommandContext, options: TrustOptions): TrustOptions {
  const isSaid = options.ca !== undefined || options.insecure === true;
  return isSaid || profile?.ca === undefined ? options : { ca: profile.ca };
}

/** The API at `url`, else of the profile, else of the server on this data directory. Throws a CommandError. */
export function findApi(context: CommandContext, url: string | undefined): ApiPlace {
  const { profile } = context;
  if (url !== undefined) return { origin: url, certificate: null };
  if (profile?.api !== undefined) return { origin: profile.api, certificate: null };
  if (profile !== null)
    throw new CommandError(
      `the profile ${profile.name} has no address of the API`,
      'give it with --url, or add the profile again with --url and --credential',
    );
  const address = listenerAddress(context, 'api');
  const certFile = listenerCertFile(context, 'api');
  if (certFile === null) return { origin: `http://${address}`, certificate: null };
  // The certificate holds the public host name, so the command compares it with the file instead of the name.
  const advice = 'name the server as its certificate does: --url https://NAME:PORT';
  return {
    origin: `https://${address}`,
    certificate: readListenerCertificate('the API', certFile, advice),
  };
}

/**
 * A client without retries, so that a person sees the server's first answer. The caller closes it. `trust` replaces the
 * certificate of the place.
 */
export function openApi(
  { origin, certificate }: ApiPlace,
  credential: SigningCredential,
  clock: Clock,
  trust: ConnectionOptions | undefined,
): ReveilleClient {
  const tls = trust ?? (certificate === null ? undefined : trustingOnly(certificate));
  return new ReveilleClient({ origin, credential, clock, tls, retry: { attemptsMax: 1 } });
}

export function addApiOptions(command: Command): Command {
  return addCredentialOption(addTrustOptions(addUrlOption(command)));
}

export function addUrlOption(command: Command): Command {
  const purpose = 'the server, like http://127.0.0.1:8080 (default: the local one)';
  return command.option('--url <origin>', purpose, parseOriginOption);
}

/** An origin: scheme, host and port. Throws InvalidArgumentError. */
export const parseOriginOption = optionOf(parseOrigin, 'Expected an origin like http://127.0.0.1:8080.');

export function answerResult(
  { output }: CommandContext,
  result: ApiResult<object, FailureCode>,
  text: string,
  isGood = result.ok,
): void {
  if (isGood) output.answer(envelopeOf(result), text);
  else output.refusal(envelopeOf(result), text);
}

function envelopeOf(result: ApiResult<object, FailureCode>): object {
  const { requestId, message, data } = result;
  const envelope = { request_id: requestId, code: result.ok ? 0 : result.code, message };
  return data === null ? envelope : { ...envelope, data };
}
