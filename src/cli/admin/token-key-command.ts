/** `reveille token-key …`: the keys that sign the tokens of calls. */
import type { Command } from 'commander';
import { addExamples, contextOf } from '../shell/command-context.ts';
import { listTokenKeys, retireTokenKey, rotateTokenKeys } from './token-key-actions.ts';

export function addTokenKeyCommand(program: Command): void {
  const tokenKey = program
    .command('token-key')
    .description("List, rotate or retire the keys that sign calls' tokens. Their secrets are never shown.");
  addExamples(
    tokenKey,
    ['token-key list', 'which key signs, and which one is accepted beside it'],
    ['token-key rotate', 'a new key signs; tokens of the former one stay good'],
  );
  addList(tokenKey);
  addRotate(tokenKey);
  addRetire(tokenKey);
}

function addList(tokenKey: Command): void {
  const command = tokenKey
    .command('list')
    .description('List the keys, the one that signs first. Also of a server that does not run.')
    .action((_options: object, self: Command) => listTokenKeys(contextOf(self)));
  addExamples(command, ['token-key list', 'for people'], ['token-key list --json', 'for machines']);
}

function addRotate(tokenKey: Command): void {
  const command = tokenKey
    .command('rotate')
    .description(
      'Make a new key that signs from now on. The former one is accepted still; an older one is dropped, and its ' +
        'tokens are refused: wait between two rotations as long as a call may take to begin.',
    )
    .action((_options: object, self: Command) => rotateTokenKeys(contextOf(self)));
  addExamples(
    command,
    ['token-key rotate', 'in the running server at once, else in its file'],
    ['token-key rotate --json', 'for machines'],
  );
}

function addRetire(tokenKey: Command): void {
  const command = tokenKey
    .command('retire')
    .description('Remove a key: its tokens are refused from now on. The last key stays.')
    .argument('<kid>', 'as token-key list shows it')
    .action((kid: string, _options: object, self: Command) => retireTokenKey(contextOf(self), kid));
  addExamples(
    command,
    ['token-key retire 5f2b9c01', 'when somebody else may have it: rotate first'],
    ['token-key retire 5f2b9c01 --json', 'for machines'],
  );
}
