/** Fails unless our drain meets the targets of `targets.ts` beside every peer: `npm run bench:check`. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { drain } from './contenders/arena.ts';
import { type ContenderName, contenders, root } from './contenders/contenders.ts';
import { installPeers, newerNodeProgram, openStand } from './contenders/prepare.ts';
import { quick } from './measure.ts';
import { drainTargets } from './targets.ts';
import { inTurn, warmUp } from './warm-up.ts';

/** A neighbor that takes the processors for a minute must not make it red: targets are compared with the best of the rounds. */
const mostRounds = 4;
const everyone: readonly ContenderName[] = ['ours', ...drainTargets.map(({ than }) => than)];

function tell(line: string): void {
  process.stderr.write(`${line}\n`);
}

type Best = Readonly<Record<'perSecond' | 'nodeUsPerMessage', number>>;

/** What misses its target, in words. */
function missed(best: ReadonlyMap<ContenderName, Best>): readonly string[] {
  const ours = bestOf(best, 'ours');
  return drainTargets.flatMap(({ cheaper, faster, than }) => {
    const theirs = bestOf(best, than);
    const ratios = [
      { what: 'as fast as', ratio: ours.perSecond / theirs.perSecond, target: faster },
      { what: 'as cheap as', ratio: theirs.nodeUsPerMessage / ours.nodeUsPerMessage, target: cheaper },
    ];
    return ratios.flatMap(({ ratio, target, what }) => {
      const line = `${ratio.toFixed(2)} times ${what} ${contenders[than].label}; the target is ${target}`;
      tell(`${ratio >= target ? 'met' : 'MISSED'}: ${line}`);
      return ratio >= target ? [] : [line];
    });
  });
}

function bestOf(best: ReadonlyMap<ContenderName, Best>, name: ContenderName): Best {
  return best.get(name) ?? { perSecond: 0, nodeUsPerMessage: Number.POSITIVE_INFINITY };
}

async function check(): Promise<readonly string[]> {
  installPeers(tell);
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [compiler, '-p', join(root, 'bench/peers')], { stdio: 'inherit' });
  const node = await newerNodeProgram(tell);
  const stand = await openStand(tell);
  try {
    const first = { name: 'ours', node, setting: {} } as const;
    const drains = await warmUp(() => drain(stand.servers, first, quick.drained.ours));
    tell(`the servers are warm after ${drains} drains`);
    const best = new Map<ContenderName, Best>();
    for (let round = 1; ; round += 1) {
      for (const name of inTurn(everyone, round)) {
        const entry = { name, node, setting: contenders[name].settings[0] ?? {} };
        const { nodeUsPerMessage, perSecond } = await drain(stand.servers, entry, quick.drained[name]);
        tell(`round ${round}, ${name}: ${perSecond}/s, ${nodeUsPerMessage} µs of node a message`);
        const before = bestOf(best, name);
        best.set(name, {
          perSecond: Math.max(before.perSecond, perSecond),
          nodeUsPerMessage: Math.min(before.nodeUsPerMessage, nodeUsPerMessage),
        });
      }
      const below = missed(best);
      if (below.length === 0 || round === mostRounds) return below;
    }
  } finally {
    await stand.close();
  }
}

const below = await check();
process.stdout.write(below.length === 0 ? 'All targets are met.\n' : `Missed: ${below.join(', ')}.\n`);
process.exitCode = below.length === 0 ? 0 : 1;
