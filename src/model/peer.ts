/** Words of the messages between members of a cluster; their shapes are in protocol/cluster. Source: cluster.md. */

/** `asleep`: its module is connected; `online`: its controller is connected; `offline`: neither is. */
export const listedStates = ['online', 'asleep', 'offline', 'never'] as const;
export type ListedState = (typeof listedStates)[number];

/**
 * Reasons for a missing answer. `nobody`: no member has the subject; `unsent`: the question was not sent in time, and not
 * received; `unanswered`: it may have been received, and may yet be carried out.
 */
export type PeerFailure = 'nobody' | 'unsent' | 'unanswered';
