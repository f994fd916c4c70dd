/**
 * `reveille message`: sends a signed message to a device and reports whether it was acknowledged; `--wake` wakes a sleeping
 * device first. Source: signal-wire.md, Sending a message.
 */
import { InvalidArgumentError, type Command } from 'commander';
import type { ApiFailure, ApiResult, MessageData, MessageWakeupData } from '../../client/reveille-client.ts';
import { decodeJsonObject } from '../../lib/utf8.ts';
import type { MessageCode } from '../../model/codes.ts';
import type { Permission } from '../../model/registry.ts';
import { longPollSecondsMax } from '../../model/limits.ts';
import { newCommand, inContext, type CommandContext } from '../shell/command-context.ts';
import { reveilleCommand } from '../shell/command-error.ts';
import { wholeNumberOption } from '../shell/option-values.ts';
import { showable } from '../../lib/showable-text.ts';
import { addApiOptions, answerResult, withApi, type ApiOptions } from './api-access.ts';

interface MessageOptions extends ApiOptions {
  readonly payload?: object;
  readonly wake?: boolean;
  readonly wait?: number;
}

export function addMessageCommand(program: Command): void {
  const waitText = `with --wake, maximum time until its login, 0-${longPollSecondsMax} (default: 20)`;
  const command = newCommand(
    program,
    'message',
    'Send a message to a device. Exits 1 unless the device acknowledges it.',
    `DOOR-1 set_light --payload '{"on":true}'`,
    'DOOR-1 hello --wake --wait 10',
  )
    .argument('<device>', 'device id')
    .argument('<name>', 'the name of the message: a-z, 0-9 and _')
    .option('--payload <json>', 'a JSON object for the device (default: {})', parsePayload)
    .option('--wake', 'wake the device if it sleeps, and wait for its login')
    .option('--wait <seconds>', waitText, wholeNumberOption(0, longPollSecondsMax))
    .action(inContext(message));
  addApiOptions(command);
}

async function message(
  context: CommandContext,
  deviceId: string,
  name: string,
  options: MessageOptions,
): Promise<void> {
  const { payload = {}, wake, wait: waitS } = options;
  const permissions: Permission[] = wake === true ? ['message:send', 'wakeup:write'] : ['message:send'];
  await withApi(context, options, { permissions, deviceId }, async (api) => {
    const answer = await api.sendMessage(deviceId, name, payload, { wake, waitS });
    answerResult(context, answer, describeMessage(deviceId, answer));
  });
}

export function describeMessage(deviceId: string, answer: ApiResult<MessageData, MessageCode>): string {
  if (!answer.ok) return describeFailure(deviceId, answer);
  const { acknowledged_at: at, wakeup } = answer.data;
  const woken = typeof wakeup?.woke_after_ms === 'number' ? `, woken in ${wakeup.woke_after_ms} ms` : '';
  return `${showable(deviceId)} acknowledged it at ${at}${woken}`;
}

function describeFailure(deviceId: string, failure: ApiFailure<MessageCode>): string {
  const { code, message: text, status, data, requestId } = failure;
  const said = `${showable(deviceId)} did not get the message: ${text} (${code}, HTTP ${status})\n  request id ${requestId}`;
  if (code === 40412) return `${said}\n  it is not online; --wake wakes a sleeping device`;
  return data?.wakeup === undefined ? said : `${said}\n  ${describeWakeup(data.wakeup)}`;
}

function describeWakeup({ status, request_id: id }: MessageWakeupData): string {
  const question = `/v1/device/wakeup-request?request_id=${id}&wait=30`;
  const next = status === 'accepted' || status === 'unknown' ? `; it may still wake: ` : ': ';
  return `the wakeup is ${status}${next}${reveilleCommand(`call GET '${question}'`)}`;
}

function parsePayload(text: string): object {
  const payload = decodeJsonObject(Buffer.from(text));
  if (!payload.ok) throw new InvalidArgumentError('Expected a JSON object like {"on":true}.');
  return payload.value;
}
