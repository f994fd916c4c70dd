/** The program: all commands, and the options that every one of them takes. */
import { Command } from 'commander';
import { readVersion } from './lib/package-version.ts';
import { collect } from './cli/shell/option-values.ts';
import { asksForJson } from './cli/shell/output.ts';
import { examples, newCommand, inContext, type CommandContext } from './cli/shell/command-context.ts';

type AddCommand = (program: Command) => void;

/**
 * Each command's module is read when it is asked for: all of them together take longer to read than most commands to run.
 * In the order of the help.
 */
const commands = new Map<string, () => Promise<AddCommand>>(
  Object.entries({
    init: async () => (await import('./cli/init/init-command.ts')).addInitCommand,
    serve: async () => (await import('./cli/serve/serve-command.ts')).addServeCommand,
    edge: async () => (await import('./cli/serve/edge-command.ts')).addEdgeCommand,
    upgrade: async () => (await import('./cli/admin/upgrade-command.ts')).addUpgradeCommand,
    doctor: async () => (await import('./cli/doctor/doctor-command.ts')).addDoctorCommand,
    backup: async () => (await import('./cli/backup/backup-command.ts')).addBackupCommand,
    restore: async () => (await import('./cli/backup/restore-command.ts')).addRestoreCommand,
    verify: async () => (await import('./cli/backup/restore-command.ts')).addVerifyCommand,
    profile: async () => (await import('./cli/profile/profile-command.ts')).addProfileCommand,
    config: async () => (await import('./cli/admin/config-command.ts')).addConfigCommand,
    cluster: async () => (await import('./cli/admin/cluster-command.ts')).addClusterCommand,
    registry: async () => (await import('./cli/registry/registry-command.ts')).addRegistryCommand,
    application: async () => (await import('./cli/registry/application-command.ts')).addApplicationCommand,
    product: async () => (await import('./cli/registry/product-command.ts')).addProductCommand,
    device: async () => (await import('./cli/admin/device-command.ts')).addDeviceCommand,
    credential: async () => (await import('./cli/admin/credential-command.ts')).addCredentialCommand,
    bridge: async () => (await import('./cli/admin/bridge-command.ts')).addBridgeCommand,
    'token-key': async () => (await import('./cli/admin/secret-commands.ts')).addTokenKeyCommand,
    'ops-token': async () => (await import('./cli/admin/secret-commands.ts')).addOpsTokenCommand,
    audit: async () => (await import('./cli/admin/audit-command.ts')).addAuditCommand,
    sign: async () => (await import('./cli/api/sign-command.ts')).addSignCommand,
    call: async () => (await import('./cli/api/call-command.ts')).addCallCommand,
    message: async () => (await import('./cli/api/message-command.ts')).addMessageCommand,
    wake: async () => (await import('./cli/api/wake-command.ts')).addWakeCommand,
    wakeups: async () => (await import('./cli/admin/wakeups-command.ts')).addWakeupsCommand,
    status: async () => (await import('./cli/api/status-command.ts')).addStatusCommand,
    refused: async () => (await import('./cli/admin/refused-command.ts')).addRefusedCommand,
    events: async () => (await import('./cli/api/events-command.ts')).addEventsCommand,
    calls: async () => (await import('./cli/admin/calls-command.ts')).addCallsCommand,
    webhook: async () => (await import('./cli/admin/webhook-command.ts')).addWebhookCommand,
    simulate: async () => (await import('./tools/simulator/simulate-command.ts')).addSimulateCommand,
    demo: async () => (await import('./tools/demo/demo-command.ts')).addDemoCommand,
    completion: async () => {
      const { addCompletionCommand } = await import('./cli/completion/completion-command.ts');
      return (program) => addCompletionCommand(program, () => buildProgram());
    },
    version: () => Promise.resolve(addVersionCommand),
  }),
);

/** Options before the command that take a value. */
const valued = new Set(['--config', '--data-dir', '--set', '--profile']);

/** `args`: as they are typed, behind the program's name; with the command that they name, or with all. */
export async function buildProgram(args: readonly string[] = []): Promise<Command> {
  const program = new Command('reveille')
    .description(
      'A connection server that keeps sleeping devices reachable, and a signed REST API to wake them.',
    )
    .version(readVersion(), '-V, --version', 'print the version')
    .option('--config <file>', 'settings file (JSON)')
    .option('--data-dir <dir>', 'data directory of the store and the running server: data.dir')
    .option('--set <section.key=value>', 'one setting, over file and environment; may be repeated', collect)
    .option('--profile <name>', 'a server elsewhere, as profile add named it')
    .option('--json', 'answer in JSON')
    .exitOverride()
    .configureOutput({
      // Its errors are reported as all others are; its help is for people.
      outputError: () => undefined,
      ...(asksForJson(args) && { writeErr: () => undefined }),
    })
    .showSuggestionAfterError()
    .configureHelp({ showGlobalOptions: true })
    .addHelpText('after', overview);
  const named = commands.get(commandName(args) ?? '');
  const asked = named === undefined ? [...commands.values()] : [named];
  for (const addCommand of await Promise.all(asked.map((find) => find()))) addCommand(program);
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

const overview = `
Examples:
  # from a checkout every command is called as
  $ npm run -s reveille -- doctor
  # run the server, let two devices sleep, wake one
  $ reveille serve
  $ reveille simulate --devices 2
  $ reveille wake DEMO-DOORBELL-1

Exit codes: 0 done, 1 failed, 2 wrong usage.`;

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
