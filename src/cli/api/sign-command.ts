/** `reveille sign`: prints the headers of a signed request, a curl command, or every intermediate value. */
import { Option, type Command } from 'commander';
import { explainSigning, type SigningSteps } from '../../protocol/tgv1/sign-request.ts';
import { parseSigningDate } from '../../protocol/tgv1/signing-headers.ts';
import { addUrlOption, findApi } from './api-access.ts';
import { newCommand, type CommandContext, inContext } from '../shell/command-context.ts';
import { optionOf } from '../shell/option-values.ts';
import { addCredentialOption, findCredential, type CredentialOptions } from './credential-source.ts';
import {
  addRequestOptions,
  curlLine,
  formatTarget,
  permissionsFor,
  readRequestBody,
  type RequestOptions,
  type RequestTarget,
} from './request-text.ts';

interface SignOptions extends CredentialOptions, RequestOptions {
  readonly contentType?: string;
  /** Wall milliseconds. */
  readonly date?: number;
  readonly url?: string;
  readonly curl?: boolean;
  readonly explain?: boolean;
}

export function addSignCommand(program: Command): void {
  const command = newCommand(
    program,
    'sign',
    'Sign a request by hand (TGV1-HMAC-SHA256): print its headers, a curl command, or every step.',
    `POST /v1/device/wakeup-request --body '{"device_id":"DOOR-1"}' --curl`,
    'POST /v1/device/wakeup-request --body @wake.json --header-set short --explain',
  );
  addRequestOptions(command)
    .option('--content-type <type>', 'the type of the body (default: application/json)')
    .option('--date <date>', 'X-Tg-Date, like 20261120T083000Z (default: now)', parseDateOption)
    .addOption(new Option('--curl', 'print a curl command').conflicts('explain'))
    .option('--explain', 'print every intermediate value, to compare with those of a client')
    .action(inContext(sign));
  addCredentialOption(addUrlOption(command));
}

async function sign(
  context: CommandContext,
  method: string,
  target: RequestTarget,
  options: SignOptions,
): Promise<void> {
  const body = readRequestBody(method, options.body);
  const need = { permissions: permissionsFor(method, target.path), deviceId: null };
  const credential = await findCredential(context, options, need);
  const { contentType, headerSet } = options;
  const atMs = options.date ?? context.clock.wallMs();
  const steps = explainSigning({ credential, method, ...target, body, headerSet, atMs, contentType });
  const text = (): string => {
    if (options.explain === true) return explanation(steps);
    if (options.curl !== true) return headerLines(steps.headers);
    const { origin, certificate } = findApi(context, options.url);
    return curlLine(method, origin + formatTarget(target), steps.headers, options.body ?? null, certificate);
  };
  context.output.answer(signingJson(method, target, steps, options), text());
}

function signingJson(
  method: string,
  target: RequestTarget,
  steps: SigningSteps,
  options: SignOptions,
): object {
  const { headers, canonicalRequest, stringToSign, signingKeyHex, signature } = steps;
  const request = { method, target: formatTarget(target), headers };
  if (options.explain !== true) return request;
  const values = { canonical_request: canonicalRequest, string_to_sign: stringToSign };
  return { ...request, ...values, signing_key_hex: signingKeyHex, signature };
}

function headerLines(headers: SigningSteps['headers']): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');
}

function explanation({
  canonicalRequest,
  stringToSign,
  signingKeyHex,
  signature,
  headers,
}: SigningSteps): string {
  return `canonical request (lines joined by LF, none after the last)
${indent(canonicalRequest)}

string to sign
${indent(stringToSign)}

signing key, hex (valid for this path and day; keep it secret)
${indent(signingKeyHex)}

signature
${indent(signature)}

headers
${indent(headerLines(headers))}`;
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '  ');
}

const parseDateOption = optionOf(
  (text) => parseSigningDate(text)?.ms ?? null,
  'Expected a date like 20261120T083000Z.',
);
