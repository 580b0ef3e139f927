from django.db import migrations, models


def move(apps, schema_editor):
    """What waited goes on to wait, with its reason and since when."""
    outages = apps.get_model("knowledge", "ProviderOutage")
    for kb in apps.get_model("knowledge", "KnowledgeBase").objects.exclude(outage_code="").exclude(outage_since=None):
        facts = {"code": kb.outage_code, "since": kb.outage_since, "seen_at": kb.outage_since, "until": kb.outage_until}
        outages.objects.update_or_create(key=kb.pk, defaults=facts)


class Migration(migrations.Migration):

    dependencies = [
        ('knowledge', '0010_parsed_by'),
    ]

    operations = [
        migrations.AddField(
            model_name='provideroutage',
            name='until',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.RunPython(move, migrations.RunPython.noop, elidable=True),
        migrations.RemoveField(
            model_name='knowledgebase',
            name='outage_code',
        ),
        migrations.RemoveField(
            model_name='knowledgebase',
            name='outage_since',
        ),
        migrations.RemoveField(
            model_name='knowledgebase',
            name='outage_until',
        ),
    ]
