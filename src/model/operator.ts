/** Who may administrate: the holder of a token, by its name and role. Source: running.md, Processes and listeners. */

export const opsRoles = ['viewer', 'operator'] as const;
/** A viewer reads lists, states and events, and changes nothing. */
export type OpsRole = (typeof opsRoles)[number];

export interface Operator {
  readonly name: string;
  readonly role: OpsRole;
}

/** The holder of `ops.token`, which the first start makes for the command line of this machine. */
export const localOperator: Operator = { name: 'local', role: 'operator' };

/** Names that lines of the audit log have for those who show no token. */
const reservedNames: ReadonlySet<string> = new Set([localOperator.name, 'cli', 'signal', 'start']);
const nameForm = /^[A-Za-z0-9][\w.@-]{0,63}$/;

export const operatorNameForm = '1-64 characters of A-Z a-z 0-9 _ . @ -, beginning with a letter or digit';

/** Whether a token may be given this name. */
export function isOperatorName(text: string): boolean {
  return nameForm.test(text) && !reservedNames.has(text);
}
