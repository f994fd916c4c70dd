/** Actions of commands that make one request to the running server and print its answer, as JSON or in words. */
import { inContext, type CommandContext } from '../shell/command-context.ts';
import { answerSecret, type SecretOptions } from '../shell/secret-file.ts';
import { opsClient } from './running-server.ts';
import type { OpsQuery } from './ops-client.ts';

/** `Given`: the arguments of the command, followed by its options. */
interface OpsRequest<Answer, Sent, Given extends unknown[]> {
  /** The query or the body. Default: none is sent. */
  readonly send?: (...given: Given) => Sent;
  /** The answer for people. */
  readonly describe: (answer: Answer, context: CommandContext, ...given: Given) => string;
  /** The answer for machines. Default: unchanged. */
  readonly json?: (answer: Answer, ...given: Given) => object;
  readonly remarks?: (answer: Answer) => readonly string[];
  /** True makes the command exit 1. */
  readonly fails?: (answer: Answer) => boolean;
}

type Action = ReturnType<typeof inContext>;

export function asking<Answer, Given extends unknown[]>(
  path: string,
  { send, ...request }: OpsRequest<Answer, OpsQuery, Given>,
): Action {
  return acting(request, (context, given) => opsClient(context).ask<Answer>(path, send?.(...given)));
}

/** An action whose answer contains a secret, for a command with `--output`. */
export function makingSecret<Answer, Given extends unknown[]>(
  path: string,
  { send, describe, json }: OpsRequest<Answer, object, Given>,
): Action {
  return inContext((context, ...args) => {
    const given = args as unknown[] as Given;
    return answerSecret(context, given.at(-1) as SecretOptions, async () => {
      const answer = await opsClient(context).change<Answer>(path, send?.(...given) ?? {});
      return [json?.(answer, ...given) ?? (answer as object), describe(answer, context, ...given)];
    });
  });
}

/** An action that changes something and is recorded in the audit log. */
export function changing<Answer, Given extends unknown[]>(
  path: string,
  { send, ...request }: OpsRequest<Answer, object, Given>,
): Action {
  return acting(request, (context, given) => opsClient(context).change<Answer>(path, send?.(...given) ?? {}));
}

function acting<Answer, Given extends unknown[]>(
  { describe, json, remarks, fails }: Omit<OpsRequest<Answer, never, Given>, 'send'>,
  request: (context: CommandContext, given: Given) => Promise<Answer>,
): Action {
  return inContext(async (context, ...args) => {
    const given = args as unknown[] as Given;
    const answer = await request(context, given);
    context.output.answer(json?.(answer, ...given) ?? answer, describe(answer, context, ...given));
    for (const remark of remarks?.(answer) ?? []) context.output.remark(remark);
    if (fails?.(answer) === true) process.exitCode = 1;
  });
}
