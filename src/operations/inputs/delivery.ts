import { listOf, sparse } from '../../core/options/collections.ts';
import { flag, optional, whole } from '../../core/options/values.ts';
import { optionTexts } from '../descriptions.ts';
import { keptText, meaning, shortName, topicName } from './values.ts';

/** What a pause or resume is of: one of both. */
export const pauseScope = {
  topic: meaning(optional(topicName), optionTexts.topic),
  transport: meaning(optional(shortName), optionTexts.transport),
};

/** The same as one argument. */
export const paused = sparse(pauseScope);

/** A topic, and how many of something it shall have. */
export const ofTopic = {
  lanes: { topic: topicName, lanes: meaning(whole(1, 1_024), 'how many there shall be') },
  partitions: {
    topic: topicName,
    partitions: meaning(whole(1, 100_000), 'how many the topic has in its broker'),
  },
};

/** Groups that keep the order of a key across a change of partitions. */
export const keptGroups = meaning(
  optional(listOf(keptText, 'a list of at most 100 names', { most: 100 })),
  optionTexts.partitionGroups,
);

/** Options of an adoption. */
export const adoption = { newInstallation: meaning(optional(flag()), optionTexts.newInstallation) };
