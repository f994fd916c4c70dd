/** `--query`: a JMESPath expression, by which a command's JSON answers are reduced to what a script wants of them. */
import type { JSONValue } from '@jmespath-community/jmespath';
import { messageOf } from '../../lib/result.ts';
import { CommandError, usageError } from './command-error.ts';

/** What the expression finds in an answer; null where it finds nothing. Throws a CommandError where it cannot be applied. */
export type AnswerQuery = (answer: unknown) => unknown;

/** The library is loaded for a query only. Rejects with a usage error when the expression cannot be read. */
export async function compileQuery(expression: string): Promise<AnswerQuery> {
  const { compile, TreeInterpreter } = await import('@jmespath-community/jmespath');
  let compiled: ReturnType<typeof compile>;
  try {
    compiled = compile(expression);
  } catch (error) {
    throw usageError(`--query: ${messageOf(error)}`, 'its form is that of JMESPath: https://jmespath.site');
  }
  return (answer) => {
    try {
      // As it would be on standard output, where what is undefined is left out.
      return TreeInterpreter.search(compiled, JSON.parse(JSON.stringify(answer)) as JSONValue) ?? null;
    } catch (error) {
      throw new CommandError(
        `--query cannot be applied to the answer: ${messageOf(error)}`,
        'the command itself is done; see its answer with --json',
      );
    }
  };
}
