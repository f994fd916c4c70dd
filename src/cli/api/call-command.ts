/** `reveille call`: sends a signed request and prints the answer. */
import type { Command } from 'commander';
import type { RawAnswer } from '../../client/reveille-client.ts';
import { addApiOptions, withApi, type ApiOptions } from './api-access.ts';
import { newCommand, type CommandContext, inContext } from '../shell/command-context.ts';
import {
  addRequestOptions,
  permissionsFor,
  readRequestBody,
  type RequestOptions,
  type RequestTarget,
} from './request-text.ts';

interface CallOptions extends ApiOptions, RequestOptions {
  readonly requestId?: string;
}

export function addCallCommand(program: Command): void {
  const command = newCommand(
    program,
    'call',
    'Send a signed request and print the answer. Exits 1 unless its code is 0.',
    "GET '/v1/device/connectivity?device_id=DOOR-1'",
    `POST /v1/device/wakeup-request --body '{"device_id":"DOOR-1"}'`,
  );
  addRequestOptions(command).option('--request-id <id>', 'X-Request-ID').action(inContext(call));
  addApiOptions(command);
}

async function call(
  context: CommandContext,
  method: string,
  target: RequestTarget,
  options: CallOptions,
): Promise<void> {
  const { headerSet, requestId } = options;
  const body = readRequestBody(method, options.body);
  const need = { permissions: permissionsFor(method, target.path), deviceId: null };
  const headers: Record<string, string> = requestId === undefined ? {} : { 'X-Request-ID': requestId };
  const answer = await withApi(context, options, need, (api) =>
    api.request({ method, ...target, body, headerSet, headers }),
  );
  context.output.answer(
    { status: answer.status, headers: headersOfInterest(answer), body: answer.json ?? answer.text },
    describeAnswer(answer),
  );
  if (answer.json?.['code'] !== 0) process.exitCode = 1;
}

const interesting = ['content-type', 'date', 'retry-after', 'allow', 'x-tg-request-id'];

function headersOfInterest({ headers }: RawAnswer): Record<string, string> {
  return Object.fromEntries(
    interesting.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]])),
  );
}

function describeAnswer(answer: RawAnswer): string {
  const headers = Object.entries(headersOfInterest(answer)).map(([name, value]) => `${name}: ${value}`);
  const body = answer.json === null ? answer.text : JSON.stringify(answer.json, null, 2);
  return [`HTTP ${answer.status}`, ...headers, '', body].join('\n');
}
