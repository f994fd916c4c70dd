/** Actions of commands that are one request to the running server: its answer is printed as it came, or in words. */
import { inContext, type CommandContext } from '../shell/command-context.ts';
import { answerSecret, type SecretOptions } from '../shell/secret-file.ts';
import { opsClient } from './running-server.ts';
import type { OpsQuery } from './ops-client.ts';

/** `Given`: the arguments of the command, then its options. */
interface OpsRequest<Answer, Sent, Given extends unknown[]> {
  /** The query, or the body; nothing is sent without it. */
  readonly send?: (...given: Given) => Sent;
  /** For people. */
  readonly say: (answer: Answer, context: CommandContext, ...given: Given) => string;
  /** For machines; the answer as it came when left out. */
  readonly json?: (answer: Answer, ...given: Given) => object;
  /** Behind the answer, for people. */
  readonly remarks?: (answer: Answer) => readonly string[];
  /** True: the command exits 1. */
  readonly fails?: (answer: Answer) => boolean;
}

type Action = ReturnType<typeof inContext>;

/** A question changes nothing. */
export function asking<Answer, Given extends unknown[]>(
  path: string,
  { send, ...request }: OpsRequest<Answer, OpsQuery, Given>,
): Action {
  return acting(request, (context, given) => opsClient(context).ask<Answer>(path, send?.(...given)));
}

/** A change whose answer has a secret, of a command with `--output`. */
export function makingSecret<Answer, Given extends unknown[]>(
  path: string,
  { send, say, json }: OpsRequest<Answer, object, Given>,
): Action {
  return inContext((context, ...args) => {
    const given = args as unknown[] as Given;
    return answerSecret(context, given.at(-1) as SecretOptions, async () => {
      const answer = await opsClient(context).change<Answer>(path, send?.(...given) ?? {});
      return [json?.(answer, ...given) ?? (answer as object), say(answer, context, ...given)];
    });
  });
}

/** A change is a line of the audit log. */
export function changing<Answer, Given extends unknown[]>(
  path: string,
  { send, ...request }: OpsRequest<Answer, object, Given>,
): Action {
  return acting(request, (context, given) => opsClient(context).change<Answer>(path, send?.(...given) ?? {}));
}

function acting<Answer, Given extends unknown[]>(
  { say, json, remarks, fails }: Omit<OpsRequest<Answer, never, Given>, 'send'>,
  request: (context: CommandContext, given: Given) => Promise<Answer>,
): Action {
  return inContext(async (context, ...args) => {
    const given = args as unknown[] as Given;
    const answer = await request(context, given);
    context.output.answer(json?.(answer, ...given) ?? answer, say(answer, context, ...given));
    for (const remark of remarks?.(answer) ?? []) context.output.remark(remark);
    if (fails?.(answer) === true) process.exitCode = 1;
  });
}
