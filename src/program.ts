/** The program: all commands, and the options common to all. */
import { Command } from 'commander';
import { readVersion } from './lib/package-version.ts';
import { collect } from './cli/shell/option-values.ts';
import { asksForJson } from './cli/shell/output.ts';
import { examples, newCommand, inContext, type CommandContext } from './cli/shell/command-context.ts';

type AddCommand = (program: Command) => void;

/** A line of the overview, short enough for two columns, and the command's module. */
type Listed = readonly [gloss: string, find: () => Promise<AddCommand>];

/**
 * Modules are loaded on demand: loading all takes longer than most commands run. The order is that of the overview, whose columns
 * each show half of the groups.
 */
const groups: Readonly<Record<string, Readonly<Record<string, Listed>>>> = {
  Run: {
    serve: ['run the server', async () => (await import('./cli/serve/serve-command.ts')).addServeCommand],
    init: ['write settings, a key', async () => (await import('./cli/init/init-command.ts')).addInitCommand],
    edge: ['hold sleep sockets', async () => (await import('./cli/serve/edge-command.ts')).addEdgeCommand],
    upgrade: [
      'replace the core',
      async () => (await import('./cli/admin/upgrade-command.ts')).addUpgradeCommand,
    ],
    config: [
      'show settings in force',
      async () => (await import('./cli/admin/config-command.ts')).addConfigCommand,
    ],
    doctor: [
      'check this machine',
      async () => (await import('./cli/doctor/doctor-command.ts')).addDoctorCommand,
    ],
    backup: [
      'copy the data directory',
      async () => (await import('./cli/backup/backup-command.ts')).addBackupCommand,
    ],
    restore: [
      'restore a backup',
      async () => (await import('./cli/backup/restore-command.ts')).addRestoreCommand,
    ],
    verify: [
      'check a backup',
      async () => (await import('./cli/backup/restore-command.ts')).addVerifyCommand,
    ],
  },
  Devices: {
    device: [
      'add, list, set, kick',
      async () => (await import('./cli/admin/device-command.ts')).addDeviceCommand,
    ],
    product: [
      'properties of devices',
      async () => (await import('./cli/registry/product-command.ts')).addProductCommand,
    ],
    application: [
      'backends with access',
      async () => (await import('./cli/registry/application-command.ts')).addApplicationCommand,
    ],
    registry: [
      'import, export, list',
      async () => (await import('./cli/registry/registry-command.ts')).addRegistryCommand,
    ],
    wake: ['wake a device', async () => (await import('./cli/api/wake-command.ts')).addWakeCommand],
    message: ['send a message', async () => (await import('./cli/api/message-command.ts')).addMessageCommand],
  },
  Calls: {
    calls: ['list, end, watch', async () => (await import('./cli/admin/calls-command.ts')).addCallsCommand],
    bridge: [
      'bridges and their keys',
      async () => (await import('./cli/admin/bridge-command.ts')).addBridgeCommand,
    ],
  },
  Keys: {
    credential: [
      'access keys of backends',
      async () => (await import('./cli/admin/credential-command.ts')).addCredentialCommand,
    ],
    token: [
      'tokens of operators',
      async () => (await import('./cli/admin/secret-commands.ts')).addTokenCommand,
    ],
    'token-key': [
      'keys of call tokens',
      async () => (await import('./cli/admin/secret-commands.ts')).addTokenKeyCommand,
    ],
    profile: [
      'servers elsewhere',
      async () => (await import('./cli/profile/profile-command.ts')).addProfileCommand,
    ],
  },
  Look: {
    status: [
      'a device or processes',
      async () => (await import('./cli/api/status-command.ts')).addStatusCommand,
    ],
    events: [
      'read the event log',
      async () => (await import('./cli/api/events-command.ts')).addEventsCommand,
    ],
    refused: [
      'refused logins',
      async () => (await import('./cli/admin/refused-command.ts')).addRefusedCommand,
    ],
    wakeups: [
      'outcome of a wakeup',
      async () => (await import('./cli/admin/wakeups-command.ts')).addWakeupsCommand,
    ],
    webhook: [
      'deliveries; test, replay',
      async () => (await import('./cli/admin/webhook-command.ts')).addWebhookCommand,
    ],
    audit: [
      'changes by operators',
      async () => (await import('./cli/admin/audit-command.ts')).addAuditCommand,
    ],
    cluster: [
      'nodes of the server',
      async () => (await import('./cli/admin/cluster-command.ts')).addClusterCommand,
    ],
  },
  Tools: {
    call: ['send a signed request', async () => (await import('./cli/api/call-command.ts')).addCallCommand],
    sign: ['sign a request', async () => (await import('./cli/api/sign-command.ts')).addSignCommand],
    simulate: [
      'play devices and bridges',
      async () => (await import('./tools/simulator/simulate-command.ts')).addSimulateCommand,
    ],
    demo: ['play the whole story', async () => (await import('./tools/demo/demo-command.ts')).addDemoCommand],
    completion: ['for bash, zsh, fish', findCompletion],
    version: ['Reveille and Node', () => Promise.resolve(addVersionCommand)],
  },
};

const commands = new Map(Object.values(groups).flatMap((group) => Object.entries(group)));

const formerNames = new Map([['ops-token', 'token']]);

const valued = new Set(['--config', '--data-dir', '--set', '--profile']);

/** `args`: the arguments after the program's name. Adds the command that they name, or all commands. */
export async function buildProgram(args: readonly string[] = []): Promise<Command> {
  const program = new Command('reveille')
    .description(
      'A connection server that keeps sleeping devices reachable, and a signed REST API to wake them.',
    )
    .version(readVersion(), '-V, --version', 'print the version')
    .option('--config <file>', 'settings file (JSON)')
    .option('--data-dir <dir>', 'data directory of the store and the running server: data.dir')
    .option(
      '--set <section.key=value>',
      'set one setting, over file and environment; may be repeated',
      collect,
    )
    .option('--profile <name>', 'a remote server, by its name in profile add')
    .option('--json', 'answer in JSON')
    .exitOverride()
    .configureOutput({
      // Errors of commander are reported like all others; its help is printed.
      outputError: () => undefined,
      ...(asksForJson(args) && { writeErr: () => undefined }),
    })
    .showSuggestionAfterError()
    .configureHelp({ showGlobalOptions: true });
  program.helpInformation = overview;
  const name = commandName(args) ?? '';
  const named = commands.get(formerNames.get(name) ?? name);
  const asked = named === undefined ? [...commands.values()] : [named];
  for (const addCommand of await Promise.all(asked.map(([, find]) => find()))) addCommand(program);
  for (const group of program.commands) {
    const [first] = group.commands;
    if (first !== undefined)
      group.addHelpText(
        'after',
        examples([`${group.name()} ${first.name()} --help`, 'each command has its own']),
      );
  }
  return program;
}

function commandName(args: readonly string[]): string | undefined {
  const name = args.findIndex((arg, i) => !arg.startsWith('-') && !valued.has(args[i - 1] ?? ''));
  return args[name];
}

const usage = `Usage: reveille COMMAND [options]         reveille COMMAND --help shows its own
`;
const optionsAndExample = `Options: --config FILE --data-dir DIR --set KEY=VALUE --profile NAME --json -V
Examples:
  $ reveille serve    # then reveille simulate, reveille wake DEMO-DOORBELL-1
`;

const columnWidth = 40;
const nameWidth = 'application'.length;

/** Two columns of groups, to fit a terminal of 24 lines by 80 characters. */
function overview(): string {
  const blocks = Object.entries(groups).map(([heading, group]) => [
    heading,
    ...Object.entries(group).map(([name, [gloss]]) => `  ${name.padEnd(nameWidth)}  ${gloss}`),
  ]);
  const left = blocks.slice(0, blocks.length / 2).flat();
  const right = blocks.slice(blocks.length / 2).flat();
  const lines = left.map((line, row) => (line.padEnd(columnWidth) + (right[row] ?? '')).trimEnd());
  return `${usage}${lines.join('\n')}\n${optionsAndExample}`;
}

async function findCompletion(): Promise<AddCommand> {
  const { addCompletionCommand } = await import('./cli/completion/completion-command.ts');
  return (program) => addCompletionCommand(program, () => buildProgram());
}

function addVersionCommand(program: Command): void {
  newCommand(program, 'version', 'Print the versions of Reveille and of what it runs on.', '--json').action(
    inContext(printVersions),
  );
}

function printVersions({ output }: CommandContext): void {
  const platform = `${process.platform}-${process.arch}`;
  const versions = { reveille: readVersion(), node: process.versions.node, platform };
  output.answer(versions, `reveille ${versions.reveille} (node ${versions.node}, ${platform})`);
}
