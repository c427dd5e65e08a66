<?php

declare(strict_types=1);

require __DIR__ . '/assert.php';

use GuzzleHttp\Client;
use GuzzleHttp\Psr7\HttpFactory;
use Relata\Relata;
use Relata\RelataException;

/** @return Generator<int, array<string, mixed>> */
function drills(int $count): Generator
{
    for ($number = 0; $number < $count; $number += 1) {
        yield [
            'identifier' => (string) $number,
            'name' => "Bohrmaschine Nr. $number, Größe L",
            'attributes' => [['key' => 'Chuck', 'value' => $number % 2 === 0 ? 'SDS-plus' : 'SDS-max']],
        ];
    }
}

run([
    'a full update reads a generator, and shows a preview before the commit' => function (Relata $relata, int $projectId): void {
        $seen = [];
        $result = $relata->products->fullUpdate(
            drills(12_000),
            projectId: $projectId,
            confirm: function (array $preview) use (&$seen): bool {
                $seen[] = $preview['created']['count'];
                return true;
            },
            onBatch: function (int $sent) use (&$seen): void {
                $seen[] = $sent;
            },
        );
        same([10_000, 12_000, 12_000], $seen, 'batches, then the preview');
        same([12_000, 'FINISHED'], [$result->sent, $result->task['taskStatus'] ?? null], 'the result');

        $refused = $relata->products->fullUpdate(drills(5), $projectId, fn (array $preview): bool => false);
        same(null, $refused->task, 'what is not confirmed is not done');
        $relata->products->giveUpFullUpdate($projectId);
        $held = 0;
        foreach ($relata->products->export($projectId) as $product) {
            $held += strlen($product['identifier']) > 0 ? 1 : 0;
        }
        same(12_000, $held, 'the catalog');

        $guard = caught(fn () => $relata->products->fullUpdate(drills(5), $projectId));
        same([400, 'delete_guard'], [$guard->status, $guard->reason], 'the delete guard');
        $done = $relata->products->fullUpdate(drills(5), $projectId, allowDeletes: 11_995);
        same('FINISHED', $done->task['taskStatus'], 'with the number that is to be deleted');
    },

    'products are replaced, changed, deleted, looked up and restored' => function (Relata $relata, int $projectId): void {
        $relata->products->fullUpdate(drills(5), $projectId);
        [$answer] = $relata->products->replace([['identifier' => 'A/1 ä', 'name' => 'New']], $projectId);
        same('FINISHED', $relata->tasks->wait($answer['task']['id'])['taskStatus'], 'an incremental update');
        [$answer] = $relata->products->change([['identifier' => '1', 'attributes' => ['Chuck' => 'none']]], $projectId);
        $relata->tasks->wait($answer['task']['id']);
        [$answer] = $relata->products->delete(new ArrayIterator(['2', '3']), $projectId);
        $relata->tasks->wait($answer['task']['id']);
        $found = $relata->products->lookUp(['A/1 ä', '1', '2', '4'], $projectId);
        same(['A/1 ä', '1', '4'], array_column($found, 'identifier'), 'the products found');
        same('none', $found[1]['facts'][0]['value'], 'the fact that was changed');
        same('New', $relata->products->lookUpOne('A/1 ä', $projectId)['name'], 'one product');
        $relata->tasks->wait($relata->products->restore($projectId)['task']['id']);
        same(4, count($relata->products->lookUp(['A/1 ä', '1', '2', '4'], $projectId)), 'after a restore');
    },

    'returns the related products of one and of many products, with reasons' => function (Relata $relata, int $projectId): void {
        $relata->products->fullUpdate(drills(300), $projectId);
        $relation = $relata->call('POST', "/management/projects/$projectId/relations", [], [
            'name' => 'Same chuck',
            'tag' => 'same',
            'source' => ['all' => []],
            'target' => ['all' => []],
            'match' => [['target' => 'Chuck', 'operator' => 'equals', 'source' => 'Chuck']],
        ]);
        $path = "/management/projects/$projectId/relations/{$relation['id']}";
        while ($relata->call('GET', $path)['state'] === 'building') {
            usleep(50_000);
        }
        $one = $relata->relations->relatedTo(
            '10',
            includeTags: [['tag' => 'same', 'limitPerRelation' => 2]],
            explain: true,
            projectId: $projectId,
        );
        $results = $one['tags'][0]['relations'][0]['searchResult'];
        same(2, count($results), 'results of one');
        same(['SDS-plus'], $results[0]['explain']['match'][0]['targetValues'], 'the reason');

        $identifiers = array_map(strval(...), range(0, 249));
        $byId = [['id' => $relation['id'], 'limit' => 1]];
        $many = $relata->relations->relatedToMany($identifiers, includeRelations: $byId, projectId: $projectId);
        same($identifiers, array_map(strval(...), array_keys($many)), 'an answer for each of many');
        same('1', $many['249']['tags'][0]['relations'][0]['searchResult'][0][0]['identifier'], 'results of many');
        $items = [['identifier' => '1'], ['identifier' => '3']];
        same('no_rule', $relata->relations->fit($items, projectId: $projectId)['verdict'], 'no constraint judges');
        $found = $relata->products->search('Bohrmaschine', 'Chuck = SDS-max', limit: 1, projectId: $projectId);
        same([150, 1], [$found['total'], count($found['items'])], 'a search');
    },

    'reads tasks, and reports every failure as a RelataException' => function (Relata $relata, int $projectId): void {
        $bad = [['identifier' => 'A1', 'name' => 'Good'], ['identifier' => 'A2']];
        $error = caught(fn () => $relata->products->replace($bad, $projectId));
        same([RelataException::class, 400, 'product_invalid'], [$error::class, $error->status, $error->reason], 'refused');
        same(['identifier' => 'A2', 'index' => 1], $error->validation[0]['product'], 'the bad product');
        same(true, strlen((string) $error->requestId) > 0, 'the id in the log');
        [$answer] = $relata->products->replace($bad, $projectId, onInvalid: 'skip');
        $id = $answer['task']['id'];
        same(1, count($answer['validation']), 'what was left out');
        same('FINISHED', $relata->tasks->wait($id)['taskStatus'], 'the good one');
        same($id, $relata->tasks->list($projectId, status: 'FINISHED', limit: 1)['tasks'][0]['id'], 'the newest task');
        same(true, count($relata->tasks->log($id)) > 0, 'the log');
        same(true, is_array(iterator_to_array($relata->tasks->report($id))), 'the report');
        same('task_ended', caught(fn () => $relata->tasks->cancel($id))->reason, 'an ended task');

        $broken = caught(fn () => $relata->products->replace([['identifier' => 'X', 'name' => "\xff"]], $projectId));
        same('Product X cannot be written as JSON', explode(':', $broken->getMessage())[0], 'not UTF-8');
        $factory = new HttpFactory();
        $nowhere = new Relata('http://127.0.0.1:1', 'key', new Client(), $factory, $factory, retries: 1);
        $error = caught(fn () => $nowhere->tasks->get('a'));
        same([RelataException::class, null], [$error::class, $error->status], 'no service');
    },

    'a write is repeated under one idempotency key, and takes effect once' => function (Relata $relata, int $projectId): void {
        $begun = microtime(true);
        $answers = $relata->products->replace([['identifier' => 'A1', 'name' => 'A']], $projectId, idempotencyKey: 'night');
        same(1, count($answers), 'one answer');
        same(true, microtime(true) - $begun >= 1, 'Retry-After: 1 was waited for');
    },

    'a full update of 20,000 products needs at most 32 MB of memory' => function (Relata $relata, int $projectId): void {
        $products = (function (): Generator {
            foreach (drills(20_000) as $product) {
                // The text is random, so that compression does not reduce the memory.
                yield ['productUrl' => 'https://shop/' . bin2hex(random_bytes(500))] + $product;
            }
        })();
        $result = $relata->products->fullUpdate($products, $projectId);
        same([20_000, 'FINISHED'], [$result->sent, $result->task['taskStatus'] ?? null], 'the result');
        $held = 0;
        foreach ($relata->products->export($projectId) as $product) {
            $held += strlen($product['productUrl']) > 1_000 ? 1 : 0;
        }
        same(20_000, $held, 'the export');
        echo '# peak ', (int) (memory_get_peak_usage(true) / 1_048_576), " MB\n";
    },
]);
