/** Interleaves servers: every round measures each of them once, each round beginning with another one. */

export async function interleave<Contender>(
  contenders: readonly Contender[],
  rounds: number,
  measure: (contender: Contender, round: number) => Promise<void>,
): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    const first = round % contenders.length;
    const order = [...contenders.slice(first), ...contenders.slice(0, first)];
    for (const contender of order) await measure(contender, round);
  }
}
