// SPDX-License-Identifier: GPL-2.0-only
/*
 * A driver's DCB side for tests: answers DCB netlink on interfaces that have nothing of the kind, such as a
 * veth. It keeps what it is told and counts how often it is told; it pauses and schedules nothing.
 *
 *   echo "IF KIND" > /sys/module/dcbsim/parameters/attach     in the network namespace of IF
 *   echo IF        > /sys/module/dcbsim/parameters/detach
 *
 * KIND, what the driver can do:
 *   full      all of IEEE and CEE
 *   ieee      all of IEEE
 *   cee       CEE alone
 *   pfc       of IEEE, PFC and APP alone; PFC on 4 priorities at most
 *   firmware  as ieee, with DCBX run by the firmware
 *
 * In debugfs, dcbsim/IF/:
 *   writes           sets since the start, whatever became of them
 *   lacks            what the driver drops of a set without a word, LACKS_* added up
 *   cee              what it has been told in CEE, in JSON: PFC by priority; for each direction, the
 *                    priorities of classes, which are strict, and the shares of groups
 *   rx_prioN_pause, tx_prioN_pause    the counters that `ethtool -S` and the PFC attribute show
 */
#include <linux/debugfs.h>
#include <linux/ethtool.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/rtnetlink.h>
#include <linux/seq_file.h>
#include <net/dcbnl.h>
#include <net/net_namespace.h>

#define PRIORITIES 8
#define BUFFER_BYTES (256 * 1024)

enum lacks {
	LACKS_ETS_SHARES = 1, /* keeps the algorithms, not the shares */
	LACKS_PFC_HIGH = 2,   /* PFC of priorities 4 to 7 */
	LACKS_MAXRATE = 4,
	LACKS_BUFFER_SIZES = 8, /* keeps the map, not the sizes */
	LACKS_APPTRUST = 16,
	LACKS_APP = 32,
};

struct cee_group {
	u8 strict, pgid, share, priorities;
};

struct side { /* CEE keeps one for each direction */
	struct cee_group tc[PRIORITIES];
	u8 group_share[PRIORITIES];
};

struct port {
	struct list_head list;
	struct net_device *dev;
	const struct dcbnl_rtnl_ops *ops;
	const struct ethtool_ops *old_ethtool;
	struct ethtool_ops ethtool;
	struct dentry *folder;

	struct ieee_ets ets;
	struct ieee_pfc pfc;
	struct ieee_maxrate rate;
	struct dcbnl_buffer buffer;
	u8 trust[IEEE_8021QAZ_APP_SEL_MAX + 1];
	int trusts;
	u8 mode;
	u8 pfc_cap;

	u8 cee_on, cee_pfc_on, cee_pfc[PRIORITIES], cee_tcs[DCB_NUMTCS_ATTR_MAX + 1];
	u8 feature[DCB_FEATCFG_ATTR_MAX + 1];
	struct side tx, rx;

	u32 writes, lacks;
	u64 rx_pause[PRIORITIES], tx_pause[PRIORITIES];
};

static LIST_HEAD(ports); /* under RTNL */
static struct dentry *top;

static struct port *port_of(const struct net_device *dev)
{
	struct port *port;

	list_for_each_entry(port, &ports, list) if (port->dev == dev) return port;
	return NULL; /* not while its operations are in force */
}

/* IEEE 802.1Qaz */

static int get_ets(struct net_device *dev, struct ieee_ets *ets)
{
	*ets = port_of(dev)->ets;
	ets->ets_cap = PRIORITIES;
	return 0;
}

static int set_ets(struct net_device *dev, struct ieee_ets *ets)
{
	struct port *port = port_of(dev);
	unsigned int shares = 0, sum = 0;
	struct ieee_ets kept = *ets;
	int i;

	port->writes++;
	for (i = 0; i < PRIORITIES; i++) {
		if (ets->prio_tc[i] >= PRIORITIES)
			return -EINVAL;
		if (ets->tc_tsa[i] != IEEE_8021QAZ_TSA_ETS)
			continue;
		shares++;
		sum += ets->tc_tx_bw[i];
	}
	if (shares && sum != 100)
		return -EINVAL;
	if (port->lacks & LACKS_ETS_SHARES)
		memcpy(kept.tc_tx_bw, port->ets.tc_tx_bw, sizeof(kept.tc_tx_bw));
	port->ets = kept;
	return 0;
}

static int get_pfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	struct port *port = port_of(dev);

	*pfc = port->pfc;
	pfc->pfc_cap = port->pfc_cap;
	memcpy(pfc->requests, port->tx_pause, sizeof(pfc->requests));
	memcpy(pfc->indications, port->rx_pause, sizeof(pfc->indications));
	return 0;
}

static int set_pfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	struct port *port = port_of(dev);

	port->writes++;
	if (hweight8(pfc->pfc_en) > port->pfc_cap)
		return -EINVAL;
	port->pfc = *pfc;
	if (port->lacks & LACKS_PFC_HIGH)
		port->pfc.pfc_en &= 0x0f;
	return 0;
}

static int get_rate(struct net_device *dev, struct ieee_maxrate *rate)
{
	*rate = port_of(dev)->rate;
	return 0;
}

static int set_rate(struct net_device *dev, struct ieee_maxrate *rate)
{
	struct port *port = port_of(dev);

	port->writes++;
	if (!(port->lacks & LACKS_MAXRATE))
		port->rate = *rate;
	return 0;
}

static int get_buffer(struct net_device *dev, struct dcbnl_buffer *buffer)
{
	*buffer = port_of(dev)->buffer;
	buffer->total_size = BUFFER_BYTES;
	return 0;
}

static int set_buffer(struct net_device *dev, struct dcbnl_buffer *buffer)
{
	struct port *port = port_of(dev);
	struct dcbnl_buffer kept = *buffer;
	u64 sum = 0;
	int i;

	port->writes++;
	for (i = 0; i < PRIORITIES; i++) {
		if (buffer->prio2buffer[i] >= DCBX_MAX_BUFFERS)
			return -EINVAL;
		sum += buffer->buffer_size[i];
	}
	if (sum > BUFFER_BYTES)
		return -EINVAL;
	if (port->lacks & LACKS_BUFFER_SIZES)
		memcpy(kept.buffer_size, port->buffer.buffer_size, sizeof(kept.buffer_size));
	port->buffer = kept;
	return 0;
}

static int add_app(struct net_device *dev, struct dcb_app *app)
{
	struct port *port = port_of(dev);

	port->writes++;
	if (app->priority >= PRIORITIES)
		return -EINVAL;
	return port->lacks & LACKS_APP ? 0 : dcb_ieee_setapp(dev, app);
}

static int remove_app(struct net_device *dev, struct dcb_app *app)
{
	port_of(dev)->writes++;
	return dcb_ieee_delapp(dev, app);
}

static int add_rewrite(struct net_device *dev, struct dcb_app *app)
{
	port_of(dev)->writes++;
	return dcb_setrewr(dev, app);
}

static int remove_rewrite(struct net_device *dev, struct dcb_app *app)
{
	port_of(dev)->writes++;
	return dcb_delrewr(dev, app);
}

static int get_trust(struct net_device *dev, u8 *selectors, int *count)
{
	struct port *port = port_of(dev);

	memcpy(selectors, port->trust, port->trusts);
	*count = port->trusts;
	return 0;
}

static int set_trust(struct net_device *dev, u8 *selectors, int count)
{
	struct port *port = port_of(dev);

	port->writes++;
	if (count > (int)sizeof(port->trust))
		return -EINVAL;
	if (port->lacks & LACKS_APPTRUST)
		return 0;
	memcpy(port->trust, selectors, count);
	port->trusts = count;
	return 0;
}

/* DCBX mode */

static u8 get_mode(struct net_device *dev)
{
	return port_of(dev)->mode;
}

static u8 set_mode(struct net_device *dev, u8 mode)
{
	struct port *port = port_of(dev);

	port->writes++;
	if (port->mode & DCB_CAP_DCBX_LLD_MANAGED || mode & DCB_CAP_DCBX_LLD_MANAGED ||
	    !(mode & DCB_CAP_DCBX_HOST))
		return 1;
	port->mode = mode;
	return 0;
}

/* CEE */

static u8 get_state(struct net_device *dev)
{
	return port_of(dev)->cee_on;
}

static u8 set_state(struct net_device *dev, u8 on)
{
	port_of(dev)->writes++;
	port_of(dev)->cee_on = on;
	return 0;
}

static void get_address(struct net_device *dev, u8 *address)
{
	memset(address, 0xff, MAX_ADDR_LEN);
	memcpy(address, dev->dev_addr, dev->addr_len);
}

static void keep_group(struct net_device *dev, struct side *side, int tc, u8 strict, u8 pgid, u8 share,
		       u8 priorities)
{
	port_of(dev)->writes++;
	if (strict != DCB_ATTR_VALUE_UNDEFINED)
		side->tc[tc].strict = strict;
	if (pgid != DCB_ATTR_VALUE_UNDEFINED)
		side->tc[tc].pgid = pgid;
	if (share != DCB_ATTR_VALUE_UNDEFINED)
		side->tc[tc].share = share;
	if (priorities != DCB_ATTR_VALUE_UNDEFINED)
		side->tc[tc].priorities = priorities;
}

static void show_group(const struct cee_group *group, u8 *strict, u8 *pgid, u8 *share, u8 *priorities)
{
	*strict = group->strict;
	*pgid = group->pgid;
	*share = group->share;
	*priorities = group->priorities;
}

static void set_group_tx(struct net_device *dev, int tc, u8 strict, u8 pgid, u8 share, u8 priorities)
{
	keep_group(dev, &port_of(dev)->tx, tc, strict, pgid, share, priorities);
}

static void set_group_rx(struct net_device *dev, int tc, u8 strict, u8 pgid, u8 share, u8 priorities)
{
	keep_group(dev, &port_of(dev)->rx, tc, strict, pgid, share, priorities);
}

static void get_group_tx(struct net_device *dev, int tc, u8 *strict, u8 *pgid, u8 *share, u8 *priorities)
{
	show_group(&port_of(dev)->tx.tc[tc], strict, pgid, share, priorities);
}

static void get_group_rx(struct net_device *dev, int tc, u8 *strict, u8 *pgid, u8 *share, u8 *priorities)
{
	show_group(&port_of(dev)->rx.tc[tc], strict, pgid, share, priorities);
}

static void set_share_tx(struct net_device *dev, int group, u8 share)
{
	port_of(dev)->writes++;
	port_of(dev)->tx.group_share[group] = share;
}

static void set_share_rx(struct net_device *dev, int group, u8 share)
{
	port_of(dev)->writes++;
	port_of(dev)->rx.group_share[group] = share;
}

static void get_share_tx(struct net_device *dev, int group, u8 *share)
{
	*share = port_of(dev)->tx.group_share[group];
}

static void get_share_rx(struct net_device *dev, int group, u8 *share)
{
	*share = port_of(dev)->rx.group_share[group];
}

static void set_cee_pfc(struct net_device *dev, int priority, u8 on)
{
	port_of(dev)->writes++;
	port_of(dev)->cee_pfc[priority] = on;
}

static void get_cee_pfc(struct net_device *dev, int priority, u8 *on)
{
	*on = port_of(dev)->cee_pfc[priority];
}

static u8 get_pfc_state(struct net_device *dev)
{
	return port_of(dev)->cee_pfc_on;
}

static void set_pfc_state(struct net_device *dev, u8 on)
{
	port_of(dev)->writes++;
	port_of(dev)->cee_pfc_on = on;
}

static u8 set_all(struct net_device *dev)
{
	port_of(dev)->writes++;
	return 0;
}

static u8 get_capability(struct net_device *dev, int capability, u8 *value)
{
	switch (capability) {
	case DCB_CAP_ATTR_PG:
	case DCB_CAP_ATTR_PFC:
	case DCB_CAP_ATTR_GSP:
		*value = 1;
		return 0;
	case DCB_CAP_ATTR_PG_TCS:
	case DCB_CAP_ATTR_PFC_TCS:
		*value = 0x80; /* a bit for each number of classes: 8 */
		return 0;
	case DCB_CAP_ATTR_DCBX:
		*value = DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_CEE | DCB_CAP_DCBX_VER_IEEE;
		return 0;
	case DCB_CAP_ATTR_UP2TC:
	case DCB_CAP_ATTR_BCN:
		*value = 0;
		return 0;
	}
	return 1;
}

static int get_tcs(struct net_device *dev, int what, u8 *count)
{
	*count = port_of(dev)->cee_tcs[what];
	return 0;
}

static int set_tcs(struct net_device *dev, int what, u8 count)
{
	port_of(dev)->writes++;
	if (count < 1 || count > PRIORITIES)
		return -EINVAL;
	port_of(dev)->cee_tcs[what] = count;
	return 0;
}

static u8 get_feature(struct net_device *dev, int feature, u8 *flags)
{
	*flags = port_of(dev)->feature[feature];
	return 0;
}

static u8 set_feature(struct net_device *dev, int feature, u8 flags)
{
	port_of(dev)->writes++;
	port_of(dev)->feature[feature] = flags;
	return 0;
}

#define IEEE_OPERATIONS                                                                                      \
	.ieee_getets = get_ets, .ieee_setets = set_ets, .ieee_getpfc = get_pfc, .ieee_setpfc = set_pfc,      \
	.ieee_getmaxrate = get_rate, .ieee_setmaxrate = set_rate, .ieee_setapp = add_app,                    \
	.ieee_delapp = remove_app, .dcbnl_getbuffer = get_buffer, .dcbnl_setbuffer = set_buffer,             \
	.dcbnl_getapptrust = get_trust, .dcbnl_setapptrust = set_trust, .dcbnl_setrewr = add_rewrite,        \
	.dcbnl_delrewr = remove_rewrite, .getdcbx = get_mode, .setdcbx = set_mode
#define CEE_OPERATIONS                                                                                       \
	.getstate = get_state, .setstate = set_state, .getpermhwaddr = get_address,                          \
	.setpgtccfgtx = set_group_tx, .setpgtccfgrx = set_group_rx, .getpgtccfgtx = get_group_tx,            \
	.getpgtccfgrx = get_group_rx, .setpgbwgcfgtx = set_share_tx, .setpgbwgcfgrx = set_share_rx,          \
	.getpgbwgcfgtx = get_share_tx, .getpgbwgcfgrx = get_share_rx, .setpfccfg = set_cee_pfc,              \
	.getpfccfg = get_cee_pfc, .setall = set_all, .getcap = get_capability, .getnumtcs = get_tcs,         \
	.setnumtcs = set_tcs, .getpfcstate = get_pfc_state, .setpfcstate = set_pfc_state,                    \
	.getfeatcfg = get_feature, .setfeatcfg = set_feature

static const struct dcbnl_rtnl_ops full_ops = {IEEE_OPERATIONS, CEE_OPERATIONS};
static const struct dcbnl_rtnl_ops ieee_ops = {IEEE_OPERATIONS};
static const struct dcbnl_rtnl_ops cee_ops = {CEE_OPERATIONS, .getdcbx = get_mode, .setdcbx = set_mode};
static const struct dcbnl_rtnl_ops pfc_ops = {
	.ieee_getpfc = get_pfc,
	.ieee_setpfc = set_pfc,
	.ieee_setapp = add_app,
	.ieee_delapp = remove_app,
	.getdcbx = get_mode,
	.setdcbx = set_mode,
};

#define HOST_IEEE (DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE)
static const struct kind {
	const char *name;
	const struct dcbnl_rtnl_ops *ops;
	u8 mode, pfc_cap;
} kinds[] = {
	{"full", &full_ops, HOST_IEEE, 8},
	{"ieee", &ieee_ops, HOST_IEEE, 8},
	{"cee", &cee_ops, DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_CEE, 8},
	{"pfc", &pfc_ops, HOST_IEEE, 4},
	{"firmware", &ieee_ops, DCB_CAP_DCBX_LLD_MANAGED | DCB_CAP_DCBX_VER_IEEE, 8},
};

/* ethtool -S: the driver's own, then ours */

static int old_counters(struct net_device *dev)
{
	const struct ethtool_ops *old = port_of(dev)->old_ethtool;
	int count = old && old->get_sset_count ? old->get_sset_count(dev, ETH_SS_STATS) : 0;

	return count < 0 ? 0 : count;
}

static int count_strings(struct net_device *dev, int set)
{
	const struct ethtool_ops *old = port_of(dev)->old_ethtool;

	if (set == ETH_SS_STATS)
		return old_counters(dev) + 2 * PRIORITIES;
	return old && old->get_sset_count ? old->get_sset_count(dev, set) : -EOPNOTSUPP;
}

static void fill_strings(struct net_device *dev, u32 set, u8 *out)
{
	const struct ethtool_ops *old = port_of(dev)->old_ethtool;
	int i;

	if (old && old->get_strings)
		old->get_strings(dev, set, out);
	if (set != ETH_SS_STATS)
		return;
	out += old_counters(dev) * ETH_GSTRING_LEN;
	for (i = 0; i < 2 * PRIORITIES; i++, out += ETH_GSTRING_LEN)
		snprintf(out, ETH_GSTRING_LEN, "%s_prio%d_pause", i < PRIORITIES ? "rx" : "tx",
			 i % PRIORITIES);
}

static void fill_counters(struct net_device *dev, struct ethtool_stats *stats, u64 *out)
{
	struct port *port = port_of(dev);

	if (port->old_ethtool && port->old_ethtool->get_ethtool_stats)
		port->old_ethtool->get_ethtool_stats(dev, stats, out);
	out += old_counters(dev);
	memcpy(out, port->rx_pause, sizeof(port->rx_pause));
	memcpy(out + PRIORITIES, port->tx_pause, sizeof(port->tx_pause));
}

/* Files */

static void show_numbers(struct seq_file *out, const char *name, const u8 *first, size_t step)
{
	int i;

	seq_printf(out, "\"%s\": [", name);
	for (i = 0; i < PRIORITIES; i++)
		seq_printf(out, i ? ", %u" : "%u", first[i * step]);
	seq_puts(out, "]");
}

static void show_side(struct seq_file *out, const char *name, const struct side *side)
{
	seq_printf(out, ", \"%s\": {", name);
	show_numbers(out, "priorities", &side->tc[0].priorities, sizeof(side->tc[0]));
	seq_puts(out, ", ");
	show_numbers(out, "strict", &side->tc[0].strict, sizeof(side->tc[0]));
	seq_puts(out, ", ");
	show_numbers(out, "share", side->group_share, 1);
	seq_puts(out, "}");
}

static int cee_show(struct seq_file *out, void *unused)
{
	const struct port *port = out->private;

	seq_puts(out, "{");
	show_numbers(out, "pfc", port->cee_pfc, 1);
	show_side(out, "tx", &port->tx);
	show_side(out, "rx", &port->rx);
	seq_puts(out, "}\n");
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(cee);

/* Coming and going */

static void make_files(struct port *port)
{
	char name[32];
	int i;

	port->folder = debugfs_create_dir(netdev_name(port->dev), top);
	debugfs_create_u32("writes", 0644, port->folder, &port->writes);
	debugfs_create_x32("lacks", 0644, port->folder, &port->lacks);
	debugfs_create_file("cee", 0444, port->folder, port, &cee_fops);
	for (i = 0; i < PRIORITIES; i++) {
		snprintf(name, sizeof(name), "rx_prio%d_pause", i);
		debugfs_create_u64(name, 0644, port->folder, &port->rx_pause[i]);
		snprintf(name, sizeof(name), "tx_prio%d_pause", i);
		debugfs_create_u64(name, 0644, port->folder, &port->tx_pause[i]);
	}
}

static int attach_port(struct net_device *dev, const struct kind *kind)
{
	struct port *port;

	if (dev->dcbnl_ops)
		return -EBUSY;
	port = kzalloc(sizeof(*port), GFP_KERNEL);
	if (!port)
		return -ENOMEM;
	port->dev = dev;
	port->mode = kind->mode;
	port->pfc_cap = kind->pfc_cap;
	port->buffer.buffer_size[0] = BUFFER_BYTES / 2;
	port->trust[port->trusts++] = IEEE_8021QAZ_APP_SEL_DSCP;
	port->cee_tcs[DCB_NUMTCS_ATTR_PG] = PRIORITIES;
	port->cee_tcs[DCB_NUMTCS_ATTR_PFC] = PRIORITIES;
	port->old_ethtool = dev->ethtool_ops;
	if (port->old_ethtool)
		port->ethtool = *port->old_ethtool;
	port->ethtool.get_sset_count = count_strings;
	port->ethtool.get_strings = fill_strings;
	port->ethtool.get_ethtool_stats = fill_counters;
	make_files(port);
	list_add(&port->list, &ports);
	dev->dcbnl_ops = kind->ops;
	dev->ethtool_ops = &port->ethtool;
	return 0;
}

static void detach_port(struct port *port)
{
	port->dev->dcbnl_ops = NULL;
	port->dev->ethtool_ops = port->old_ethtool;
	debugfs_remove_recursive(port->folder);
	list_del(&port->list);
	kfree(port);
}

static const struct kind *kind_named(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

static int set_attach(const char *text, const struct kernel_param *parameter)
{
	char name[IFNAMSIZ], kind[16];
	struct net_device *dev;
	int error;

	if (sscanf(text, "%15s %15s", name, kind) != 2 || !kind_named(kind))
		return -EINVAL;
	rtnl_lock();
	dev = __dev_get_by_name(current->nsproxy->net_ns, name);
	error = dev ? attach_port(dev, kind_named(kind)) : -ENODEV;
	rtnl_unlock();
	return error;
}

static int set_detach(const char *text, const struct kernel_param *parameter)
{
	char name[IFNAMSIZ];
	struct net_device *dev;
	struct port *port;

	if (sscanf(text, "%15s", name) != 1)
		return -EINVAL;
	rtnl_lock();
	dev = __dev_get_by_name(current->nsproxy->net_ns, name);
	port = dev ? port_of(dev) : NULL;
	if (port)
		detach_port(port);
	rtnl_unlock();
	return port ? 0 : -ENODEV;
}

static const struct kernel_param_ops attach_parameter = {.set = set_attach};
static const struct kernel_param_ops detach_parameter = {.set = set_detach};
module_param_cb(attach, &attach_parameter, NULL, 0200);
module_param_cb(detach, &detach_parameter, NULL, 0200);

static int on_event(struct notifier_block *block, unsigned long event, void *info)
{
	struct port *port = port_of(netdev_notifier_info_to_dev(info));

	if (port && event == NETDEV_UNREGISTER)
		detach_port(port);
	return NOTIFY_DONE;
}

static struct notifier_block events = {.notifier_call = on_event};

static int __init dcbsim_start(void)
{
	int error;

	top = debugfs_create_dir("dcbsim", NULL);
	error = register_netdevice_notifier(&events);
	if (error)
		debugfs_remove_recursive(top);
	return error;
}

static void __exit dcbsim_end(void)
{
	struct port *port, *next;

	unregister_netdevice_notifier(&events);
	rtnl_lock();
	list_for_each_entry_safe(port, next, &ports, list) detach_port(port);
	rtnl_unlock();
	debugfs_remove_recursive(top);
}

module_init(dcbsim_start);
module_exit(dcbsim_end);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Lossless: DCB netlink on any interface, for tests");
