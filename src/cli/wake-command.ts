/** `reveille wake`: the signed wakeup, and in one sentence what became of it. Source: API doc, Endpoint 2. */
import { InvalidArgumentError, type Command } from 'commander';
import { parseRequestId } from '../domain/ids.ts';
import { parseOrigin, sendApiRequest, type ApiAnswer } from './api-request.ts';
import { addExamples, contextOf, type CommandContext } from './command-context.ts';
import { addCredentialOptions, findCredential, type CredentialOptions } from './credential-source.ts';
import { listenerAddress } from './running-server.ts';
import { describeWakeup } from './wakeup-hints.ts';

interface WakeOptions extends CredentialOptions {
  readonly customData?: string;
  readonly requestId?: string;
  readonly url?: string;
}

export function addWakeCommand(program: Command): void {
  const command = program
    .command('wake')
    .description('Wake a sleeping device. Exits 1 unless the packet was sent.')
    .argument('<device>', 'device id')
    .option('--custom-data <hex>', 'two bytes for the device, like 0x12ab', parseCustomData)
    .option(
      '--request-id <id>',
      'X-Request-ID: a repeat under the same id wakes at most once',
      parseRequestIdOption,
    )
    .option(
      '--url <origin>',
      'the server, like http://127.0.0.1:8080; the local one when left out',
      parseOrigin,
    )
    .action((device: string, options: WakeOptions, self: Command) => wake(contextOf(self), device, options));
  addExamples(
    addCredentialOptions(command),
    ['wake DOOR-1', 'with the fixed packet'],
    ['wake DOOR-1 --custom-data 0x12ab', 'with two bytes that the device sees'],
    ['wake DOOR-1 --request-id order-77 --json', 'safe to repeat, for machines'],
  );
}

async function wake(context: CommandContext, deviceId: string, options: WakeOptions): Promise<void> {
  const { customData, requestId } = options;
  const credential = await findCredential(context, options, { permission: 'wakeup:write', deviceId });
  const origin = options.url ?? `http://${listenerAddress(context, 'api')}`;
  const body = wakeupBody(deviceId, customData);
  const answer = await sendApiRequest(
    { origin, credential, method: 'POST', target: wakeupTarget, body, requestId },
    context.clock,
  );
  context.output.answer(
    answer.json ?? { status: answer.status, body: answer.text },
    describeAnswer(deviceId, answer),
  );
  if (answer.code !== 0) process.exitCode = 1;
}

export const wakeupTarget = { path: '/v1/device/wakeup-request', rawQuery: '' };

export function wakeupBody(deviceId: string, customData: string | undefined): Buffer {
  return Buffer.from(JSON.stringify({ device_id: deviceId, custom_data: customData }));
}

function describeAnswer(deviceId: string, answer: ApiAnswer): string {
  const requestId = answer.json?.['request_id'];
  const said = describeWakeup(deviceId, answer);
  return typeof requestId === 'string' ? `${said}\n  request id ${requestId}` : said;
}

function parseCustomData(text: string): string {
  if (!/^0x[0-9a-fA-F]{4}$/.test(text))
    throw new InvalidArgumentError('Expected 0x and four hexadecimal digits.');
  return text;
}

function parseRequestIdOption(text: string): string {
  if (parseRequestId(text.trim()) === null)
    throw new InvalidArgumentError('Expected 1-128 printable ASCII characters.');
  return text;
}
