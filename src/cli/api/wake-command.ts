/**
 * `reveille wake`: sends the signed wakeup, says its result in one sentence and, with `--wait`, that of the device.
 * Source: API doc, Endpoint 2; events.md.
 */
import { InvalidArgumentError, type Command } from 'commander';
import type { ApiResult, ReveilleClient, WakeupData } from '../../client/reveille-client.ts';
import type { WakeupCode } from '../../model/codes.ts';
import { addApiOptions, envelopeOf, withApi, type ApiOptions } from './api-access.ts';
import { addExamples, type CommandContext, inContext } from '../shell/command-context.ts';
import { parseRequestIdOption } from '../shell/option-values.ts';
import { awaitOutcome, describeOutcome, describeWakeup } from './wakeup-outcome.ts';
import { showable } from '../../lib/showable-text.ts';

interface WakeOptions extends ApiOptions {
  readonly customData?: string;
  readonly requestId?: string;
  readonly wait?: boolean;
}

export function addWakeCommand(program: Command): void {
  const command = program
    .command('wake')
    .description('Wake a sleeping device. Exits 1 unless the packet was sent.')
    .argument('<device>', 'device id')
    .option('--custom-data <hex>', 'two bytes for the device, like 0x12ab', parseCustomData)
    .option('--request-id <id>', 'X-Request-ID, by which its outcome is asked for', parseRequestIdOption)
    .option('--wait', 'wait until the device is online again, up to 60 s; exits 1 when it does not come')
    .action(inContext(wake));
  addExamples(
    addApiOptions(command),
    ['wake DOOR-1', 'with the fixed packet'],
    ['wake DOOR-1 --wait', 'and see it come online'],
    ['wake DOOR-1 --custom-data 0x12ab', 'with two bytes that the device sees'],
    ['wake DOOR-1 --request-id order-77 --json', 'under an id of your own, for machines'],
  );
}

type Wakeup = ApiResult<WakeupData, WakeupCode>;

async function wake(context: CommandContext, deviceId: string, options: WakeOptions): Promise<void> {
  const { customData, requestId } = options;
  await withApi(context, options, { permissions: ['wakeup:write'], deviceId }, async (api) => {
    const wakeup = await api.wake(deviceId, { customData, requestId });
    const isAwaited = options.wait === true && mayComeOnline(wakeup);
    const isGood = wakeup.ok || isAwaited;
    context.output[isGood ? 'answer' : 'refusal'](envelopeOf(wakeup), describeAnswer(deviceId, wakeup));
    if (isAwaited) await notifyOutcome(context, api, wakeup.requestId, deviceId);
  });
}

/** The packet was sent, or may have been. */
function mayComeOnline(wakeup: Wakeup): boolean {
  return wakeup.ok || wakeup.code === 50402;
}

async function notifyOutcome(
  context: CommandContext,
  api: ReveilleClient,
  requestId: string,
  deviceId: string,
): Promise<void> {
  const outcome = await awaitOutcome(api, context.clock, requestId, deviceId);
  context.output.answer(outcome, `${showable(outcome.device_id)}: ${describeOutcome(outcome)}`);
  if (outcome.status !== 'completed') process.exitCode = 1;
}

function describeAnswer(deviceId: string, wakeup: Wakeup): string {
  return `${describeWakeup(deviceId, wakeup)}\n  request id ${wakeup.requestId}`;
}

function parseCustomData(text: string): string {
  if (!/^0x[0-9a-fA-F]{4}$/.test(text))
    throw new InvalidArgumentError('Expected 0x and four hexadecimal digits.');
  return text;
}
